/**
 * What a model reads: pages that fit its context, texts without invisible characters, one line on how to
 * continue.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { type Called, callTool } from '#tests/support/agent.ts'
import { plantBank } from '#tests/support/bank.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

const maxBytes = 20_000
let service: Service
let user: ServiceUser
let bank: AccountRow
before(async () => {
  service = await startService({ env: { MCP_MAX_ANSWER_BYTES: String(maxBytes) } })
  user = await service.createUser()
  await service.link(user, 'history', 'fiskil')
  const [row] = (await service.accounts(user)).filter(({ type }) => type === 'transaction')
  assert(row !== undefined)
  bank = row
})
after(() => service.close())

/** All rows of a tool, page by page as its own words say. */
async function walk(name: OperationName, args: object, bound: number): Promise<unknown[]> {
  const rows: unknown[] = []
  let offset = 0
  for (let page = 0; page < 500; page += 1) {
    const called = await callTool(service, user, name, { ...args, offset })
    assert.equal(called.result.isError, undefined, called.text)
    const { data, pagination } = called.result.structuredContent
    assert(Buffer.byteLength(called.text) <= bound, `${Buffer.byteLength(called.text)} bytes`)
    rows.push(...data)
    if (!pagination.hasMore) return rows
    assert(data.length > 0)
    const nextOffset = /offset (\d+)\.$/.exec(called.result.content[1].text)?.[1]
    offset += pagination.limit
    assert.equal(nextOffset, String(offset), 'the line and the pagination agree')
  }
  assert.fail('the walk has no end')
}

test('a page that would be too large ends earlier, and the walk still sees every row once', async () => {
  const args = {
    connectionId: bank.connectionId,
    accountId: bank.id,
    from: '2026-10-01',
    limit: 500,
  }
  const rows = await walk('list_transactions', args, maxBytes)
  const path = `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.id}&from=2026-10-01&limit=500`
  const rest = await service.get(path, user)
  assert.equal(rest.body.pagination.hasMore, false)
  assert(rest.text.length * 2 > maxBytes, 'it is a case')
  assert.deepEqual(rows, rest.body.data)
})

test('the page says how many rows it shows; its total and offset stay those of REST', async () => {
  const args = { connectionId: bank.connectionId, accountId: bank.id, from: '2026-10-01' }
  const { result } = await callTool(service, user, 'list_transactions', { ...args, limit: 400 })
  const { data, pagination } = result.structuredContent
  assert(data.length > 10 && data.length < 400)
  assert.equal(pagination.limit, data.length)
  assert.equal(pagination.offset, 0)
  assert.equal(pagination.hasMore, true)
  assert(pagination.total > data.length)
  assert.match(
    result.content[1].text,
    new RegExp(
      `^${data.length} transactions from offset 0 of ${pagination.total} \\(the page ends early to fit\\)\\. There is more: call list_transactions again with the same arguments and offset ${data.length}\\.$`,
    ),
  )
})

test('the cached answer stays complete: REST returns the full page after a tool returned a part of it', async () => {
  const query = `connectionId=${bank.connectionId}&accountId=${bank.id}&from=2026-09-30&limit=400`
  const args = {
    connectionId: bank.connectionId,
    accountId: bank.id,
    from: '2026-09-30',
    limit: 400,
  }
  const { result } = await callTool(service, user, 'list_transactions', args)
  const rest = await service.get(`/v1/transactions?${query}`, user)
  assert.equal(rest.headers['x-cache'], 'HIT')
  assert(rest.body.data.length > result.structuredContent.data.length)
})

test('accounts and trades are bounded alike', async () => {
  const many = await service.createUser()
  await plantBank(service, many, {
    accounts: Array.from({ length: 120 }, (_, index) => ({ name: `Account ${index}` })),
  })
  const { result } = await callTool(service, many, 'list_accounts', { limit: 200 })
  assert(result.structuredContent.data.length < 120)
  assert.equal(result.structuredContent.pagination.total, 120)
  const broker = await linkBroker(service, many, [
    { activities: Array.from({ length: 90 }, () => activity({ description: 'x'.repeat(200) })) },
  ])
  const trades = await callTool(service, many, 'list_trades', {
    connectionId: broker.connection.id,
  })
  assert(trades.result.structuredContent.data.length < 90)
  assert.equal(trades.result.structuredContent.pagination.total, null)
  assert.equal(trades.result.structuredContent.pagination.hasMore, true)
})

const tradeNames = (rows: readonly unknown[]) =>
  rows.map((row) => (row as { description: string }).description.replace(/ x+$/, ''))

/** An agent, and a broker with one page of trades that does not fit into one answer. */
async function plantTrades() {
  const agent = await service.createUser()
  const end = Date.parse('2026-11-10T15:30:00Z')
  const broker = await linkBroker(service, agent, [
    {
      activities: Array.from({ length: 90 }, (_, index) =>
        activity({
          description: `trade ${index} `.padEnd(200, 'x'),
          tradeDate: new Date(end - index * 60_000).toISOString(),
        }),
      ),
    },
  ])
  const [account] = broker.upstream
  assert(account !== undefined)
  async function read(offset: number) {
    const args = { connectionId: broker.connection.id, limit: 500, offset }
    const { result, text } = await callTool(service, agent, 'list_trades', args)
    assert.equal(result.isError, undefined, text)
    const { data, pagination } = result.structuredContent
    return { names: tradeNames(data), next: pagination.hasMore ? offset + data.length : null }
  }
  return { account, read }
}

test('R18: a row that is removed after a page that ends earlier hides no other, even of a list of one page', async () => {
  const { account, read } = await plantTrades()
  const seen: string[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const page = await read(offset)
    seen.push(...page.names)
    if (offset === 0) account.activities.splice(3, 1)
    offset = page.next
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 90 }, (_, index) => `trade ${index}`),
  )
})

test('R18: a list that has changed can be read again in pages that end earlier, at other rows than before', async () => {
  const { account, read } = await plantTrades()
  for (let offset: number | null = 0; offset !== null; ) offset = (await read(offset)).next
  service.clock.advance(660_000)
  account.activities.unshift(
    activity({ description: 'y', tradeDate: '2026-11-10T15:31:00Z' }),
    activity({ description: 'z', tradeDate: '2026-11-10T15:30:30Z' }),
  )
  const seen: string[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const page = await read(offset)
    seen.push(...page.names)
    offset = page.next
  }
  assert.deepEqual([seen.length, new Set(seen).size, seen.slice(0, 2)], [92, 92, ['y', 'z']])
})

test('at least one row is shown, however large it is', async () => {
  const other = await service.createUser()
  const broker = await linkBroker(service, other, [
    { activities: [1, 2].map(() => activity({ description: 'x'.repeat(30_000) })) },
  ])
  const { result } = await callTool(service, other, 'list_trades', {
    connectionId: broker.connection.id,
  })
  assert.equal(result.structuredContent.data.length, 1)
  assert.equal(result.structuredContent.pagination.hasMore, true)
})

const line = ({ result }: Called) => result.content[1].text

test('the line describes complete lists, last pages, one row and none', async () => {
  const other = await service.createUser()
  assert.equal(line(await callTool(service, other, 'list_connections')), '0 connections, complete.')
  await plantBank(service, other, { accounts: [{}, {}, {}] })
  assert.equal(line(await callTool(service, other, 'list_connections')), '1 connection, complete.')
  assert.equal(
    line(await callTool(service, other, 'list_accounts')),
    '3 accounts from offset 0: the end, 3 in all.',
  )
  assert.equal(
    line(await callTool(service, other, 'list_accounts', { limit: 1, offset: 1 })),
    '1 account from offset 1 of 3. There is more: call list_accounts again with the same arguments and offset 2.',
  )
  assert.equal(
    line(await callTool(service, other, 'list_accounts', { offset: 3 })),
    '0 accounts from offset 3: the end, 3 in all.',
  )
})

test('R30: trades whose end is filled in are not said to be all there are', async () => {
  const other = await service.createUser()
  const { connection } = await linkBroker(service, other, [{ activities: [activity()] }])
  const told = async (dates: object) =>
    line(await callTool(service, other, 'list_trades', { connectionId: connection.id, ...dates }))
  const none = '0 trades from offset 0: the end, 0 in all. Read until 1991-01-02 and no further.'
  for (const to of [{}, {}, { to: '1991-01-02' }]) {
    assert.equal(await told({ from: '1990-01-01', ...to }), none)
  }
  assert.equal(await told({}), '1 trade from offset 0: the end, 1 in all.')
})

test('the line says how many balances the bank did not provide', async () => {
  const other = await service.createUser()
  const { accounts } = await plantBank(service, other, { accounts: [{}, {}] })
  const accountIds = accounts.map(({ id }) => id)
  assert.equal(
    line(await callTool(service, other, 'list_balances', { accountIds })),
    '2 balances, complete. 2 not provided by the bank (null).',
  )
})

test('the total of a truncated reading is shown as a lower bound', async () => {
  const args = { connectionId: bank.connectionId, accountId: bank.id, from: '2020-01-01', limit: 3 }
  const called = await callTool(service, user, 'list_transactions', args)
  const rest = await service.get(
    `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.id}&from=2020-01-01&limit=3`,
    user,
  )
  assert.equal(rest.headers['x-service-truncated'], 'true', 'it is a case')
  assert.match(line(called), /of at least \d+\. There is more/)
})

test('characters that hide or reorder the text around them are escaped, and decode to the same text', async () => {
  const other = await service.createUser()
  const name =
    'Pay\u202e\u2066evil\u2069 \u200bzero\u00adsoft \u007f\u0085 \u2028line \ufeffmark \u{e0041}\u{e007f} tab\t "quoted" é 漢 👋'
  await plantBank(service, other, { accounts: [{ name }] })
  const { result } = await callTool(service, other, 'list_accounts')
  const [{ text }] = result.content
  assert.equal(result.structuredContent.data[0].name, name)
  assert.deepEqual(JSON.parse(text), result.structuredContent)
  assert.equal(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text), false)
  for (const shown of ['\\u202e', '\\u2066', '\\u200b', '\\udb40\\udc41', '\\u2028', '漢 👋']) {
    assert(text.includes(shown), shown)
  }
})

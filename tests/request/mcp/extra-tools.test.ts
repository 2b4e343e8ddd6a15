/** The tools that an operator lists beyond those of the contract (reading R44). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { add, type Decimal, negate, parseDecimal, zero } from '#kernel/decimal.ts'
import { newId } from '#kernel/ids.ts'
import { post, rpc } from '#tests/support/agent.ts'
import { signUp } from '#tests/support/person.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'
import { connectAgent } from '#tests/support/token.ts'
import { emit, manyDigits, transactionText } from '../list-events/emitted.ts'
import { addNarrowKey } from '../narrow-keys/narrow.ts'

async function open(t: TestContext, env: Record<string, string>) {
  const service = await startService({ env })
  t.after(() => service.close())
  return { service, user: await service.createUser() }
}

async function ask(service: Service, user: ServiceUser, method: string, params: object) {
  const response = await fetch(`${service.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${user.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  return { text, body: JSON.parse(text) }
}

const six = [
  'list_connections',
  'list_accounts',
  'list_balances',
  'list_transactions',
  'list_holdings',
  'list_trades',
]

const namesOf = async (service: Service, user: ServiceUser) =>
  (await ask(service, user, 'tools/list', {})).body.result.tools.map(
    ({ name }: { name: string }) => name,
  )

test('R44: list_changes is listed and callable with MCP_EXTRA_TOOLS alone', async (t) => {
  const plain = await open(t, {})
  assert.deepEqual(await namesOf(plain.service, plain.user), six)
  const call = { name: 'list_changes', arguments: {} }
  const refused = await ask(plain.service, plain.user, 'tools/call', call)
  assert.equal(refused.body.error.code, -32602)
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  assert.deepEqual(await namesOf(service, user), [...six, 'list_changes', 'summarize_transactions'])
})

test('R44: list_changes goes on from a cursor, and ends a page before it is too large for a model', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const changes = async (args: object) => {
    const asked = { name: 'list_changes', arguments: args }
    const { text, body } = await ask(service, user, 'tools/call', asked)
    assert.equal(body.result.isError, undefined, text)
    return { text, ...body.result.structuredContent, line: body.result.content[1].text }
  }
  const first = await changes({})
  assert.deepEqual(first.data, [])
  assert.match(first.line, /^Nothing new\. Keep next/)
  const rows = Array.from({ length: 60 }, () => transactionText())
  const bodies: string[] = []
  for (let run = 0; run < 6; run += 1) {
    bodies.push(...(await emit(service.app.store, user.id, { rows })))
  }
  const ids: string[] = []
  let after = first.next
  for (let page = 0; page < 10; page += 1) {
    const { data, next, text } = await changes({ after, types: ['transactions.synced'] })
    if (data.length === 0) break
    assert.ok(data.length < bodies.length)
    assert.ok(text.length <= 90_000)
    assert.ok(text.includes(manyDigits))
    ids.push(...data.map(({ id }: { id: string }) => id))
    after = next
  }
  assert.deepEqual(
    ids,
    bodies.map((body) => JSON.parse(body).id),
  )
})

test('R28, R44: list_changes has trades with the scope of brokers alone', async (t) => {
  const { service } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const person = await signUp(service)
  const agents = {
    both: await connectAgent(service, person),
    banks: await connectAgent(service, person, { scopes: ['mcp:read'] }),
  }
  const as = (agent: keyof typeof agents) => `Bearer ${agents[agent].accessToken}`
  const call = (agent: keyof typeof agents, args: object) =>
    post(service, rpc('tools/call', { name: 'list_changes', arguments: args }), { as: as(agent) })
  const changes = async (agent: keyof typeof agents, args: object) =>
    (await call(agent, args)).body.result.structuredContent
  const { next: after } = await changes('banks', {})
  for (const type of ['trades.synced', 'transactions.synced'] as const)
    await emit(service.app.store, person.id, { type })
  const typesOf = ({ data }: { data: { type: string }[] }) => data.map(({ type }) => type)
  assert.deepEqual(typesOf(await changes('banks', { after })), ['transactions.synced'])
  assert.deepEqual(typesOf(await changes('both', { after })), [
    'trades.synced',
    'transactions.synced',
  ])
  const named = { after, types: ['transactions.synced', 'trades.synced'] }
  const refused = await call('banks', named)
  assert.equal(refused.status, 403)
  assert.equal(refused.body.error.code, 'insufficient_scope')
  assert.match(String(refused.headers['www-authenticate']), /scope="mcp:read brokerage:read"/)
  assert.equal((await call('both', named)).status, 200)
})

test('R44: a wrong cursor is an error with the words of REST', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const call = { name: 'list_changes', arguments: { after: 'x', types: [] } }
  const { body } = await ask(service, user, 'tools/call', call)
  assert.equal(body.result.isError, true)
  assert.equal(body.result.structuredContent.error.code, 'invalid_params')
})

/** Two banks with rows of July and August, in two currencies. */
async function openBanks(t: TestContext) {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const links = [
    ...(await service.link(user, 'healthy', 'fiskil')),
    ...(await service.link(user, 'healthy', 'akahu')),
  ]
  const rowsOf = async (from: string, to: string) => {
    const rows: { amount: string; date: string; category: string | null; accountId: string }[] = []
    for (const { id } of links) {
      const path = `/v1/transactions?connectionId=${id}&from=${from}&to=${to}&limit=500`
      rows.push(...(await service.get(path, user)).body.data)
    }
    return rows
  }
  const sum = async (args: object) => {
    const asked = { name: 'summarize_transactions', arguments: args }
    const { body, text } = await ask(service, user, 'tools/call', asked)
    assert.equal(body.result.isError, undefined, text)
    return { ...body.result.structuredContent, line: body.result.content[1].text }
  }
  return { service, user, links, rowsOf, sum }
}

type Sums = {
  key: string | null
  currency: string
  moneyIn: string
  moneyOut: string
  count: number
}

const sumOf = (amounts: readonly string[]): Decimal =>
  amounts
    .map((amount) => parseDecimal(amount) ?? assert.fail(amount))
    .reduce((sum, amount) => add(sum, amount), zero)

test('R44: the sums of every grouping meet the rows of REST to the cent, by currency, in and out apart', async (t) => {
  const { rowsOf, sum, service, user } = await openBanks(t)
  const [from, to] = ['2026-10-01', '2026-11-20']
  const rows = await rowsOf(from, to)
  assert.ok(rows.length > 50)
  const accounts = await service.accounts(user)
  const currencies = new Map(accounts.map(({ id, currency }) => [id as string, currency]))
  for (const groupBy of ['month', 'category', 'merchant', 'account']) {
    const { data, others, count, truncated, reachedDate, unread, line } = await sum({
      from,
      to,
      groupBy,
    })
    assert.deepEqual([truncated, reachedDate, unread, others], [false, null, [], []])
    assert.equal(count, rows.length)
    assert.match(line, /complete\.$/)
    for (const currency of new Set(currencies.values())) {
      const own = rows.filter(({ accountId }) => currencies.get(accountId) === currency)
      const sums = data.filter((one: Sums) => one.currency === currency)
      const amounts = own.map(({ amount }) => amount)
      const [debits, credits] = [amounts.filter(isOut), amounts.filter((one) => !isOut(one))]
      assert.equal(sumOf(sums.map(({ moneyOut }: Sums) => moneyOut)), negate(sumOf(debits)))
      assert.equal(sumOf(sums.map(({ moneyIn }: Sums) => moneyIn)), sumOf(credits))
      assert.equal(
        sums.reduce((all: number, one: Sums) => all + one.count, 0),
        own.length,
      )
    }
  }
  const { data: months } = await sum({ from, to, groupBy: 'month' })
  assert.deepEqual([...new Set(months.map(({ key }: Sums) => key))], ['2026-11', '2026-10'])
})

const isOut = (amount: string) => amount.startsWith('-')

test('R44: over more rows than one request may read the sums say so, with the day that they reach', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const [link = assert.fail()] = await service.link(user, 'history', 'fiskil')
  const args = { connectionId: link.id, from: '2023-01-01', to: '2026-11-20', groupBy: 'month' }
  const { body } = await ask(service, user, 'tools/call', {
    name: 'summarize_transactions',
    arguments: args,
  })
  const { truncated, reachedDate, count, data } = body.result.structuredContent
  assert.equal(truncated, true)
  assert.ok(count >= 4900 && count <= 5000, `${count} rows`)
  assert.match(reachedDate, /^\d{4}-\d{2}-\d{2}$/)
  assert.equal(data.at(-1).key, reachedDate.slice(0, 7))
  assert.match(body.result.content[1].text, /not of all rows/)
})

test('R44: a bank that cannot be read is named and is in no sum; alone it is an error', async (t) => {
  const { service, links, sum, user } = await openBanks(t)
  const [lost = assert.fail()] = links
  service.sandbox.fiskil.addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  const args = { from: '2026-11-01', to: '2026-11-20', groupBy: 'category' }
  const { unread, count } = await sum(args)
  assert.deepEqual(
    unread.map(({ connectionId }: { connectionId: string }) => connectionId).toSorted(),
    links
      .filter(({ provider }) => provider === 'fiskil')
      .map(({ id }) => id)
      .toSorted(),
  )
  assert.ok(count > 0)
  const alone = { name: 'summarize_transactions', arguments: { ...args, connectionId: lost.id } }
  const { body } = await ask(service, user, 'tools/call', alone)
  assert.equal(body.result.isError, true)
})

test('R43 R44: a narrow key sums its accounts alone, and another one is as unknown as one that does not exist', async (t) => {
  const { service, user, links } = await openBanks(t)
  const [bank = assert.fail(), hidden = assert.fail()] = links
  const accounts = await service.accounts(user)
  const own = accounts.filter(({ connectionId }) => connectionId === bank.id)
  const key = await addNarrowKey(service, user, { accountIds: own.map(({ id }) => id) })
  const sum = async (args: object) => {
    const asked = { from: '2026-10-01', to: '2026-11-20', groupBy: 'account', ...args }
    const call = { name: 'summarize_transactions', arguments: asked }
    return (await ask(service, key, 'tools/call', call)).body.result
  }
  const whole = (await sum({})).structuredContent
  assert.ok(whole.count > 0)
  assert.deepEqual(whole.unread, [])
  for (const { key: id } of whole.data) assert.ok(own.some((account) => account.id === id))
  const other = accounts.find(({ connectionId }) => connectionId === hidden.id)
  const refusals = await Promise.all(
    [
      [{ accountId: other?.id }, { accountId: newId() }],
      [{ connectionId: hidden.id }, { connectionId: newId() }],
      [
        { connectionId: bank.id, accountId: other?.id },
        { connectionId: bank.id, accountId: newId() },
      ],
    ].map((pair) => Promise.all(pair.map(sum))),
  )
  for (const [one, another] of refusals) {
    assert.equal(one.isError, true)
    assert.deepEqual(one.structuredContent, another.structuredContent)
  }
})

test('R44: an account is found by its id alone in either case of letters', async (t) => {
  const { sum, service, user } = await openBanks(t)
  const [account = assert.fail()] = await service.accounts(user)
  const args = { from: '2026-10-01', to: '2026-11-20', groupBy: 'account' }
  assert.deepEqual(
    await sum({ ...args, accountId: account.id.toUpperCase() }),
    await sum({ ...args, accountId: account.id }),
  )
})

test('R44: dates that cannot be read are refused in the same words with and without a bank', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const sum = async (from: string, to: string) => {
    const args = { from, to, groupBy: 'month' }
    const call = { name: 'summarize_transactions', arguments: args }
    return (await ask(service, user, 'tools/call', call)).body.result
  }
  const ranges = [
    ['2026-11-20', '2026-11-01'],
    ['2026-13-01', '2026-11-01'],
    ['2010-01-01', '2026-11-01'],
    ['yesterday', '2026-11-01'],
  ] as const
  const without = await Promise.all(ranges.map(([from, to]) => sum(from, to)))
  await service.link(user, 'healthy', 'fiskil')
  for (const [at, [from, to]] of ranges.entries()) {
    assert.equal(without[at].isError, true, from)
    assert.deepEqual(without[at].structuredContent, (await sum(from, to)).structuredContent)
  }
  assert.equal((await sum('2026-11-01', '2026-11-20')).isError, undefined)
})

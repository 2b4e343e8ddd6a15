/**
 * The tools are thin over REST (reading R28): the same bodies, errors and cache entries, question by
 * question.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { type Called, callTool, modern, post } from '#tests/support/agent.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
let bank: AccountRow
let broker: AccountRow
before(async () => {
  // Whole pages: other tests check how a page ends earlier.
  service = await startService({ env: { MCP_MAX_ANSWER_BYTES: '0' } })
  user = await service.createUser()
  await service.link(user, 'healthy')
  const accounts = await service.accounts(user)
  const everyday = accounts.find((row) => row.name === 'Everyday')
  const investment = accounts.find((row) => row.provider === 'snaptrade')
  assert(everyday !== undefined && investment !== undefined)
  bank = everyday
  broker = investment
})
after(() => service.close())

type Question = readonly [name: OperationName, args: object, path: string]

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

const answered = (): Question[] => {
  const { connectionId, id } = bank
  const of = `connectionId=${connectionId}&accountId=${id}`
  const trades = `connectionId=${broker.connectionId}`
  return [
    ['list_connections', {}, '/v1/connections'],
    ['list_accounts', {}, '/v1/accounts'],
    ['list_accounts', { limit: 3, offset: 2 }, '/v1/accounts?limit=3&offset=2'],
    ['list_accounts', { offset: 9999 }, '/v1/accounts?offset=9999'],
    ['list_balances', { accountIds: [id] }, `/v1/balances?accountIds=${id}`],
    ['list_transactions', { connectionId, accountId: id }, `/v1/transactions?${of}`],
    [
      'list_transactions',
      { connectionId, accountId: id, from: '2026-09-01', to: '2026-10-31', limit: 5, offset: 10 },
      `/v1/transactions?${of}&from=2026-09-01&to=2026-10-31&limit=5&offset=10`,
    ],
    [
      'list_transactions',
      { connectionId, from: '2026-10-01T00:00:00+10:00' },
      `/v1/transactions?connectionId=${connectionId}&from=2026-10-01T00:00:00%2B10:00`,
    ],
    ['list_holdings', { connectionId: broker.connectionId }, `/v1/holdings?${trades}`],
    [
      'list_holdings',
      { connectionId: broker.connectionId, accountId: broker.id },
      `/v1/holdings?${trades}&accountId=${broker.id}`,
    ],
    [
      'list_trades',
      { connectionId: broker.connectionId, from: '2026-01-01', to: '2026-11-01', limit: 4 },
      `/v1/trades?${trades}&from=2026-01-01&to=2026-11-01&limit=4`,
    ],
    ['list_trades', { connectionId: broker.connectionId }, `/v1/trades?${trades}&from=2025-11-20`],
  ]
}

function assertSameTexts({ result }: Called): void {
  assert.equal(result.content.length, 2)
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent)
  assert.equal(result.content[1].text.includes('\n'), false)
}

test('R28: structured content equals the REST body, for every tool and window', async () => {
  for (const [name, args, path] of answered()) {
    const called = await callTool(service, user, name, args)
    const rest = await service.get(path, user)
    assert.equal(rest.status, 200, path)
    assert.equal(called.result.isError, undefined, path)
    assert.deepEqual(called.result.structuredContent, rest.body, path)
    assert.equal(rest.headers['x-cache'], 'HIT', `${path} was answered from the tool’s entry`)
    assertSameTexts(called)
  }
})

test('R28: what REST has cached, a tool is answered without asking the provider', async () => {
  const path = `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.id}&from=2026-08-02`
  const rest = await service.get(path, user)
  const before = service.sandbox.fiskil.requests.length
  const called = await callTool(service, user, 'list_transactions', {
    connectionId: bank.connectionId,
    accountId: bank.id,
    from: '2026-08-02',
  })
  assert.deepEqual(called.result.structuredContent, rest.body)
  assert.equal(service.sandbox.fiskil.requests.length, before)
})

test('R28: both eras give the same result', async () => {
  for (const [name, args] of answered().slice(0, 6)) {
    const legacy = await callTool(service, user, name, args)
    const { payload, headers } = modern('tools/call', { name, arguments: args })
    const answer = await post(service, payload, { as: user, headers })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.result.structuredContent, legacy.result.structuredContent)
    assert.deepEqual(answer.body.result.content, legacy.result.content)
  }
})

const refused = (): Question[] => [
  [
    'list_transactions',
    { connectionId: unknownId },
    `/v1/transactions?connectionId=${unknownId}&accountId=`,
  ],
  [
    'list_transactions',
    { connectionId: 'no uuid', accountId: 'x' },
    '/v1/transactions?connectionId=no%20uuid&accountId=x',
  ],
  [
    'list_transactions',
    { connectionId: bank.connectionId, accountId: unknownId },
    `/v1/transactions?connectionId=${bank.connectionId}&accountId=${unknownId}`,
  ],
  [
    'list_transactions',
    { connectionId: broker.connectionId, accountId: 'x' },
    `/v1/transactions?connectionId=${broker.connectionId}&accountId=x`,
  ],
  [
    'list_transactions',
    { connectionId: bank.connectionId, accountId: 'x', from: '2026-02-30', to: 'now' },
    `/v1/transactions?connectionId=${bank.connectionId}&accountId=x&from=2026-02-30&to=now`,
  ],
  [
    'list_transactions',
    { connectionId: bank.connectionId, accountId: 'x', from: '2026-03-02', to: '2026-03-01' },
    `/v1/transactions?connectionId=${bank.connectionId}&accountId=x&from=2026-03-02&to=2026-03-01`,
  ],
  [
    'list_transactions',
    { connectionId: bank.connectionId, accountId: 'x', from: '2010-01-01' },
    `/v1/transactions?connectionId=${bank.connectionId}&accountId=x&from=2010-01-01`,
  ],
  [
    'list_holdings',
    { connectionId: bank.connectionId },
    `/v1/holdings?connectionId=${bank.connectionId}`,
  ],
  [
    'list_trades',
    { connectionId: bank.connectionId },
    `/v1/trades?connectionId=${bank.connectionId}`,
  ],
  [
    'list_trades',
    { connectionId: broker.connectionId, from: 'soon' },
    `/v1/trades?connectionId=${broker.connectionId}&from=soon`,
  ],
  ['list_balances', { accountIds: [unknownId] }, `/v1/balances?accountIds=${unknownId}`],
  ['list_balances', { accountIds: [broker.id] }, `/v1/balances?accountIds=${broker.id}`],
]

/** What REST says, with the tool of the same operation for each of its paths. */
function inWordsOfTools(body: unknown): unknown {
  const text = JSON.stringify(body).replace(/\/v1\/(\w+)/g, 'list_$1')
  return JSON.parse(text)
}

test('R28: an error names tools where REST names paths', async () => {
  const { connectionId } = bank
  const message = async (name: OperationName, args: object) =>
    (await callTool(service, user, name, args)).result.structuredContent.error.message
  assert.equal(
    await message('list_trades', { connectionId }),
    'This is a banking connection; use list_transactions or list_balances',
  )
  assert.equal(
    await message('list_transactions', { connectionId: broker.connectionId }),
    'This is a brokerage connection; use list_trades or list_holdings',
  )
  assert.match(await message('list_balances', { accountIds: [broker.id] }), /use list_holdings for/)
  assert.match(
    await message('list_holdings', { connectionId: unknownId }),
    /list yours with list_connections$/,
  )
  assert.match(
    await message('list_transactions', { connectionId, accountId: unknownId }),
    /list yours with list_accounts$/,
  )
})

test('R28: what REST refuses, a tool refuses with the same envelope, in its own words, as an error result', async () => {
  for (const [name, args, path] of refused().slice(1)) {
    const called = await callTool(service, user, name, args)
    const rest = await service.get(path, user)
    assert(rest.status >= 400, path)
    assert.equal(called.result.isError, true, path)
    assert.deepEqual(called.result.structuredContent, inWordsOfTools(rest.body), path)
    assert.doesNotMatch(called.text, /\/v1\//)
    assertSameTexts(called)
  }
})

test('R28: an unavailable provider is an error result with the time to retry', async () => {
  const when = ({ path }: { path: string }) => path === '/v1/banking/transactions'
  service.sandbox.fiskil.addFault({
    when,
    does: { kind: 'reply', reply: { status: 500, body: '{}' } },
  })
  try {
    const { result } = await callTool(service, user, 'list_transactions', {
      connectionId: bank.connectionId,
      accountId: bank.id,
      from: '2026-07-07',
    })
    assert.equal(result.isError, true)
    assert.match(result.structuredContent.error.message, /temporarily unavailable/)
    assert.equal(result.content[1].text, 'The call failed: retry after 30 s.')
  } finally {
    service.sandbox.fiskil.clearFaults()
  }
})

test('R21: tool calls count for and obey the same breaker as REST', async () => {
  const other = await service.createUser()
  await service.link(other, 'healthy', 'fiskil')
  const account = (await service.accounts(other)).find((row) => row.name === 'Everyday')
  const when = ({ path }: { path: string }) => path === '/v1/banking/transactions'
  service.sandbox.fiskil.addFault({
    when,
    does: { kind: 'reply', reply: { status: 500, body: '{}' } },
  })
  try {
    const ask = (from: string) =>
      callTool(service, other, 'list_transactions', {
        connectionId: account?.connectionId,
        accountId: account?.id,
        from,
      })
    for (const day of ['2026-06-01', '2026-06-02', '2026-06-03']) await ask(day)
    const { result } = await ask('2026-06-04')
    assert.equal(result.structuredContent.error.code, 'upstream_breaker_open')
    assert.match(result.content[1].text, /retry after \d+ s/)
    const rest = await service.get(
      `/v1/transactions?connectionId=${account?.connectionId}&accountId=${account?.id}&from=2026-06-05`,
      other,
    )
    assert.equal(rest.body.error.code, 'upstream_breaker_open')
  } finally {
    service.sandbox.fiskil.clearFaults()
  }
})

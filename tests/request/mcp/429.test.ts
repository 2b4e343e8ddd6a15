/**
 * Rate windows and places in flight of agents: the very ones of REST, charged call by call (readings R6,
 * R28).
 */
import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, test } from 'node:test'
import { post, rpc, toolCall } from '#tests/support/agent.ts'
import { type Answer, type ServiceUser, specified, startService } from '#tests/support/service.ts'

let user: ServiceUser
const service = await startService({ env: specified })
beforeEach(async () => {
  service.clock.advance(60_000)
  user = await service.createUser()
})
afterEach(() => service.sandbox.fiskil.clearFaults())
after(() => service.close())

const remaining = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining'])
const limit = (answer: Answer) => Number(answer.headers['x-ratelimit-limit'])
const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const holdings = (id?: number) => toolCall('list_holdings', { connectionId: unknownId }, id)

test('R28: a call is charged to the bucket of its operation, which REST shares', async () => {
  const connections = await post(service, toolCall('list_connections'), { as: user })
  assert.deepEqual([limit(connections), remaining(connections)], [60, 59])
  const balances = await post(service, toolCall('list_balances', { accountIds: [unknownId] }), {
    as: user,
  })
  assert.deepEqual([limit(balances), remaining(balances)], [30, 29])
  const heavy = await post(service, holdings(), { as: user })
  assert.deepEqual([limit(heavy), remaining(heavy)], [30, 29])
  const rest = await service.get('/v1/trades?connectionId=x', user)
  assert.equal(remaining(rest), 28)
  const again = await post(service, holdings(), { as: user })
  assert.equal(remaining(again), 27)
  assert.equal(
    again.headers['x-ratelimit-reset'],
    String(Math.ceil((service.clock.now() + 60_000) / 1000)),
  )
})

test('R28: other methods cost nothing and show the cheap bucket', async () => {
  await post(service, toolCall('list_connections'), { as: user })
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  for (const payload of [
    rpc('ping'),
    rpc('tools/list'),
    rpc('initialize', initialize),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    rpc('no/such/method'),
    rpc('tools/call', { name: 'no_such_tool' }),
    [rpc('ping', {}, 1), rpc('tools/list', {}, 2)],
    'no JSON',
  ]) {
    const answer = await post(service, payload, { as: user })
    assert.deepEqual([limit(answer), remaining(answer)], [60, 59], JSON.stringify(payload))
  }
})

test('R28: a call that fails counts like one that succeeds', async () => {
  const wrong = toolCall('list_accounts', { limit: 0 })
  assert.equal(remaining(await post(service, wrong, { as: user })), 59)
  assert.equal(remaining(await post(service, wrong, { as: user })), 58)
})

test('R28: a refused single call is HTTP 429 with the REST envelope and headers', async () => {
  for (let count = 0; count < 30; count += 1) await service.get('/v1/holdings', user)
  service.clock.advance(12_000)
  const answer = await post(service, holdings(), { as: user })
  assert.equal(answer.status, 429)
  assert.deepEqual(answer.body, { error: { message: 'Too many requests' } })
  assert.equal(answer.headers['retry-after'], '48')
  assert.deepEqual([limit(answer), remaining(answer)], [30, 0])
  assert.equal((await post(service, toolCall('list_accounts'), { as: user })).status, 200)
})

test('R28: in a batch each call is charged, and one refused is that entry’s error alone', async () => {
  for (let count = 0; count < 27; count += 1) await service.get('/v1/holdings', user)
  const batch = [
    ...[1, 2, 3, 4, 5].map((id) => holdings(id)),
    toolCall('list_connections', {}, 'six'),
    rpc('ping', {}, 7),
  ]
  const answer = await post(service, batch, { as: user })
  assert.equal(answer.status, 200)
  interface Entry {
    readonly id: unknown
    readonly result: {
      readonly isError?: boolean
      readonly structuredContent: { readonly error?: { message: string; code?: string } }
    }
  }
  const entries: readonly Entry[] = answer.body
  assert.equal(new Set(entries.map((entry) => entry.id)).size, 7)
  const resultOf = (id: unknown) => entries.find((entry) => entry.id === id)?.result
  for (const id of [1, 2, 3]) {
    assert.equal(resultOf(id)?.structuredContent.error?.code, 'connection_not_found')
  }
  for (const id of [4, 5]) {
    assert.deepEqual(resultOf(id)?.structuredContent.error, { message: 'Too many requests' })
    assert.equal(resultOf(id)?.isError, true)
  }
  assert.deepEqual(resultOf('six')?.structuredContent, { data: [] })
  assert.equal(answer.headers['retry-after'], undefined)
})

test('R28: ten calls of one batch never hold more than one concurrency lease', async () => {
  await service.link(user, 'healthy', 'fiskil')
  const account = (await service.accounts(user)).find((row) => row.name === 'Everyday')
  service.sandbox.fiskil.addFault({
    when: ({ path }) => path === '/v1/banking/transactions',
    does: { kind: 'delay', ms: 30 },
  })
  const batch = Array.from({ length: 10 }, (_, index) =>
    toolCall(
      'list_transactions',
      {
        connectionId: account?.connectionId,
        accountId: account?.id,
        from: `2026-09-${String(index + 10)}`,
      },
      index,
    ),
  )
  const answer = await post(service, batch, { as: user })
  assert.equal(answer.body.length, 10)
  for (const { result } of answer.body) assert.equal(result.isError, undefined)
})

test('R28: a call without a free concurrency lease is HTTP 429 with Retry-After', async () => {
  await service.link(user, 'healthy', 'fiskil')
  const account = (await service.accounts(user)).find((row) => row.name === 'Everyday')
  const when = ({ path }: { path: string }) => path === '/v1/banking/transactions'
  const asked = () => service.sandbox.fiskil.requests.filter(when).length
  service.sandbox.fiskil.addFault({ when, does: { kind: 'delay', ms: 400 } })
  const call = (from: string) =>
    toolCall('list_transactions', {
      connectionId: account?.connectionId,
      accountId: account?.id,
      from,
    })
  const before = asked()
  const four = [1, 2, 3, 4].map((day) => post(service, call(`2026-10-0${day}`), { as: user }))
  for (let wait = 0; wait < 2000 && asked() < before + 4; wait += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const fifth = await post(service, call('2026-10-09'), { as: user })
  assert.equal(fifth.status, 429)
  assert.deepEqual(fifth.body, { error: { message: 'Too many concurrent requests' } })
  for (const answer of await Promise.all(four)) assert.equal(answer.status, 200)
})

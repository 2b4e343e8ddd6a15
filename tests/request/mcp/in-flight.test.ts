/**
 * Agents that leave, and agents that ask the same at once (reading R22). Real time passes here, in tenths of
 * a second.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, afterEach, test } from 'node:test'
import { modern, post, rpc, toolCall } from '#tests/support/agent.ts'
import { startService } from '#tests/support/service.ts'
import { open } from '../rest/wire.ts'

const service = await startService({ env: { REQUEST_TIMEOUT_MS: '1500', MCP_EXTRA_TOOLS: 'true' } })
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
const row = (await service.accounts(user)).find((one) => one.name === 'Everyday')
assert(row !== undefined)
const bank = row
afterEach(() => {
  service.sandbox.fiskil.clearFaults()
  service.clock.advance(3_700_000)
})
after(() => service.close())

const when = ({ path }: { path: string }) => path === '/v1/banking/transactions'
const asked = () => service.sandbox.fiskil.requests.filter(when).length
const aborted = () => service.sandbox.fiskil.aborted.length
let days = 0

/** Arguments that were not used before. */
function freshArguments() {
  days += 1
  return {
    connectionId: bank.connectionId,
    accountId: bank.id,
    from: `2026-09-${String(days).padStart(2, '0')}`,
  }
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  for (let wait = 0; wait < 2000; wait += 1) {
    if (isDone()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.fail(`it never came to this: ${what}`)
}

/** A raw client that can disconnect; its call has reached the provider when this resolves. */
async function arrive(
  payload: object,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Socket> {
  const before = asked()
  const socket = open(service.baseUrl, {
    method: 'POST',
    target: '/mcp',
    headers: [
      ['Authorization', `Bearer ${user.key}`],
      ['Content-Type', 'application/json'],
      ['X-Request-Id', requestId],
      ...Object.entries(headers),
    ],
    body: JSON.stringify(payload),
  })
  socket.on('error', () => undefined)
  await until('asked', () => asked() > before)
  return socket
}

const logged = (requestId: string) =>
  service.logLines.map((text) => JSON.parse(text)).filter((entry) => entry.requestId === requestId)

for (const era of ['2025', '2026'] as const) {
  test(`R22: when an agent of ${era} disconnects its provider call is aborted, and the log says 499`, async () => {
    service.sandbox.fiskil.addFault({ when, does: { kind: 'hang' } })
    const before = aborted()
    const args = freshArguments()
    const call = modern('tools/call', { name: 'list_transactions', arguments: args })
    const socket = await (era === '2025'
      ? arrive(toolCall('list_transactions', args), `leaver-${era}`)
      : arrive(call.payload, `leaver-${era}`, call.headers))
    socket.destroy()
    await until('the provider call is aborted', () => aborted() > before)
    await until('logged', () => logged(`leaver-${era}`).length > 0)
    const [entry] = logged(`leaver-${era}`)
    assert.equal(entry.status, 499)
    assert.equal(entry.code, 'client_disconnected')
    assert.equal(entry.operation, 'list_transactions')
    assert.equal(entry.door, 'mcp')
    assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
  })
}

test('R22: when the agent disconnects, the waiting calls of its batch are not made', async () => {
  service.sandbox.fiskil.addFault({ when, does: { kind: 'hang' }, times: 1 })
  const before = asked()
  const batch = Array.from({ length: 5 }, (_, id) =>
    toolCall('list_transactions', freshArguments(), id),
  )
  const socket = await arrive(batch, 'batch-leaver')
  socket.destroy()
  await until('all are logged', () => logged('batch-leaver').length >= 5)
  assert.equal(asked(), before + 1)
})

test('R22: a tool call and a REST request for the same read share one computation while in flight', async () => {
  service.sandbox.fiskil.addFault({ when, does: { kind: 'delay', ms: 80 }, times: 1 })
  const before = asked()
  const args = freshArguments()
  const [called, rest] = await Promise.all([
    post(service, toolCall('list_transactions', { ...args, limit: 5 }), { as: user }),
    service.get(
      `/v1/transactions?connectionId=${args.connectionId}&accountId=${args.accountId}&from=${args.from}&limit=5`,
      user,
    ),
  ])
  assert.equal(asked(), before + 1)
  assert.deepEqual(called.body.result.structuredContent, rest.body)
})

test('R20c: a call whose time is over is an error result, and its provider call ends with it', async () => {
  service.sandbox.fiskil.addFault({ when, does: { kind: 'hang' }, times: 1 })
  const before = aborted()
  const answer = await post(service, toolCall('list_transactions', freshArguments()), { as: user })
  assert.equal(answer.body.result.isError, true)
  assert.match(answer.body.result.structuredContent.error.message, /temporarily unavailable/)
  await until('the provider call is aborted', () => aborted() > before)
})

test('R20c: a batch has the time of one request: what it does not reach is an error result', async () => {
  // Each call asks for two pages.
  service.sandbox.fiskil.addFault({ when, does: { kind: 'delay', ms: 450 } })
  const before = asked()
  const [first, ...others] = Array.from({ length: 4 }, () => ({
    name: 'list_transactions',
    arguments: freshArguments(),
  }))
  const calls = [first, ...others, { name: 'list_changes' }, { name: 'list_accounts' }, first]
  const batch = calls.map((call, id) => rpc('tools/call', call, id))
  const begun = performance.now()
  const answer = await post(service, batch, { as: user })
  const tookMs = performance.now() - begun
  assert.ok(tookMs < 2500, `${tookMs} ms`)
  const results = [...answer.body].sort((one, other) => one.id - other.id)
  const isLate = results.map(({ result }) => result.isError === true)
  // The last one is answered from the cache.
  assert.deepEqual(isLate, [false, true, true, true, true, true, false])
  for (const { result } of results.slice(1, -1)) {
    assert.match(result.structuredContent.error.message, /temporarily unavailable/)
  }
  assert.ok(asked() <= before + 4, 'those behind the end ask nothing')
})

test('a body that ends early is not a request', async () => {
  const socket = open(service.baseUrl, {
    method: 'POST',
    target: '/mcp',
    headers: [
      ['Authorization', `Bearer ${user.key}`],
      ['Content-Type', 'application/json'],
      ['X-Request-Id', 'broken-off'],
      ['Transfer-Encoding', 'chunked'],
    ],
  })
  socket.on('error', () => undefined)
  socket.write('5\r\n{"jso\r\n')
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.destroy()
  await until('logged', () => logged('broken-off').length > 0)
  assert.equal(logged('broken-off')[0].status, 499)
})

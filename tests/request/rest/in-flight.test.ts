/**
 * Requests in flight: clients that leave (reading R22), shared computations, the cap of four, the time of one
 * request (reading R20c). Real time passes here, in tenths of a second.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, afterEach, test } from 'node:test'
import { startService } from '#tests/support/service.ts'
import { open } from './wire.ts'

const service = await startService({
  env: { REQUEST_TIMEOUT_MS: '1500', RATE_LIMIT_HEAVY: '1000' },
})
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
const row = (await service.accounts(user)).find((one) => one.name === 'Everyday')
assert(row !== undefined)
const bank = row
afterEach(() => {
  service.sandbox.fiskil.clearFaults()
  // Breakers and cached answers are those of an hour ago.
  service.clock.advance(3_700_000)
})
after(() => service.close())

const bankPath = '/v1/banking/transactions'
let days = 0

/** A query that was not made before. */
function freshPath(): string {
  days += 1
  const day = String(days).padStart(2, '0')
  return `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.id}&from=2026-10-${day}`
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  for (let wait = 0; wait < 1000; wait += 1) {
    if (isDone()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.fail(`it never came to this: ${what}`)
}

const asked = () => service.sandbox.fiskil.requests.filter(({ path }) => path === bankPath).length
const aborted = () => service.sandbox.fiskil.aborted.length

function slowly(does: { kind: 'hang' } | { kind: 'delay'; ms: number }, times?: number): void {
  const when = ({ path }: { path: string }) => path === bankPath
  service.sandbox.fiskil.addFault({ when, does, ...(times === undefined ? {} : { times }) })
}

/** A raw client that can disconnect; its request has reached the provider when this resolves. */
async function arrive(path: string, requestId: string): Promise<Socket> {
  const before = asked()
  const headers = [
    ['Authorization', `Bearer ${user.key}`],
    ['X-Request-Id', requestId],
  ] as const
  const socket = open(service.baseUrl, { target: path, headers })
  socket.on('error', () => undefined)
  await until('asked', () => asked() > before)
  return socket
}

function logged(requestId: string) {
  return service.logLines
    .map((line) => JSON.parse(line))
    .filter((line) => line.requestId === requestId)
}

test('R22: when a client disconnects its provider call is aborted, and the log says 499', async () => {
  slowly({ kind: 'hang' })
  const before = aborted()
  const socket = await arrive(freshPath(), 'leaver-1')
  const left = performance.now()
  socket.destroy()
  await until('the provider call is aborted', () => aborted() > before)
  assert(performance.now() - left < 100)
  await until('logged', () => logged('leaver-1').length > 0)
  const [line] = logged('leaver-1')
  assert.equal(line.status, 499)
  assert.equal(line.code, 'client_disconnected')
  assert.equal(line.operation, 'list_transactions')
})

test('R22: identical requests in flight are one provider call and one answer', async () => {
  slowly({ kind: 'delay', ms: 80 }, 1)
  const before = asked()
  const path = freshPath()
  const answers = await Promise.all([1, 2, 3, 4].map(() => service.get(path, user)))
  assert.equal(asked(), before + 1)
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-cache'], 'MISS')
    assert.equal(answer.text, answers[0]?.text)
  }
  const ids = new Set(answers.map((answer) => answer.headers['x-request-id']))
  assert.equal(ids.size, 4)
})

test('R22: of two that share a computation one leaves, and the other is still served', async () => {
  slowly({ kind: 'delay', ms: 150 }, 1)
  const before = { asked: asked(), aborted: aborted() }
  const path = freshPath()
  const first = await arrive(path, 'first-of-two')
  const second = service.get(path, user)
  await new Promise((resolve) => setTimeout(resolve, 30))
  first.destroy()
  const answer = await second
  assert.equal(answer.status, 200)
  assert.deepEqual([asked(), aborted()], [before.asked + 1, before.aborted])
  assert.equal(logged('first-of-two')[0]?.status, 499)
})

test('R22: when both have left, the provider call ends within a tenth of a second', async () => {
  slowly({ kind: 'hang' }, 1)
  const before = aborted()
  const path = freshPath()
  const first = await arrive(path, 'both-1')
  const second = open(service.baseUrl, {
    target: path,
    headers: [['Authorization', `Bearer ${user.key}`]],
  })
  await new Promise((resolve) => setTimeout(resolve, 40))
  first.destroy()
  await new Promise((resolve) => setTimeout(resolve, 40))
  assert.equal(aborted(), before, 'one is still waiting')
  const left = performance.now()
  second.destroy()
  await until('the provider call is aborted', () => aborted() > before)
  assert(performance.now() - left < 100)
  assert.equal((await service.get(path, user)).status, 200, 'a newcomer joins no dead computation')
})

test('R22: disconnected clients are no failures of the provider', async () => {
  slowly({ kind: 'hang' }, 4)
  for (let count = 0; count < 4; count += 1) {
    const before = aborted()
    const socket = await arrive(freshPath(), `no-failure-${count}`)
    socket.destroy()
    await until('aborted', () => aborted() > before)
  }
  assert.equal((await service.get(freshPath(), user)).status, 200)
})

test('four heavy requests of a key may be in flight, the fifth is refused at once', async () => {
  slowly({ kind: 'delay', ms: 200 }, 4)
  const before = asked()
  const four = [1, 2, 3, 4].map(() => service.get(freshPath(), user))
  await until('all four are at the provider', () => asked() === before + 4)
  const fifth = await service.get(freshPath(), user)
  assert.equal(fifth.status, 429)
  assert.deepEqual(fifth.body, { error: { message: 'Too many concurrent requests' } })
  assert.match(String(fifth.headers['retry-after']), /^[1-9]\d*$/)
  assert.match(String(fifth.headers['x-ratelimit-reset']), /^\d+$/)
  assert.equal(fifth.headers['x-cache'], 'BYPASS')
  const holdings = await service.get('/v1/holdings?connectionId=x', user)
  assert.equal(holdings.status, 429, 'heavy endpoints share the four places')
  assert.equal((await service.get('/v1/accounts', user)).status, 200, 'others need no place')
  const colleague = await service.createUser()
  assert.equal((await service.get('/v1/holdings', colleague)).status, 400, 'another key')
  for (const answer of await Promise.all(four)) assert.equal(answer.status, 200)
  assert.equal((await service.get(freshPath(), user)).status, 200, 'the places are free again')
})

test('leases are released by failed requests and by clients that disconnect', async () => {
  for (let count = 0; count < 8; count += 1) {
    assert.equal((await service.get('/v1/transactions', user)).status, 400)
  }
  slowly({ kind: 'hang' }, 5)
  for (let count = 0; count < 5; count += 1) {
    const before = aborted()
    const socket = await arrive(freshPath(), `place-${count}`)
    socket.destroy()
    await until('aborted', () => aborted() > before)
  }
  assert.equal((await service.get(freshPath(), user)).status, 200)
})

test('R20c: a request whose time is over is 503, and its provider call ends with it', async () => {
  slowly({ kind: 'hang' }, 1)
  const before = aborted()
  const started = performance.now()
  const answer = await service.get(freshPath(), user)
  assert(performance.now() - started < 2500)
  assert.equal(answer.status, 503)
  assert.equal(answer.body.error.code, undefined)
  assert.equal(answer.headers['retry-after'], '30')
  await until('the provider call is aborted', () => aborted() > before)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMemoryCache } from '#fast/memory-cache.ts'
import { makeMemoryLeases } from '#fast/memory-leases.ts'
import type { LeaseStore } from '#fast/port.ts'
import type { LoginId } from '#kernel/ids.ts'
import type { CallContext } from './login.ts'
import { makeReadings } from './readings.ts'

const login = { id: 'login' as LoginId, version: 1 }
const hourMs = 3_600_000
const person = { address: '203.0.113.7', headers: {} }

function makeClock() {
  let now = Date.parse('2026-11-20T03:00:00Z')
  return {
    now: () => now,
    pass(ms: number) {
      now += ms
    },
  }
}

const call = (over: Partial<CallContext> = {}): CallContext => ({
  signal: new AbortController().signal,
  priority: 'user',
  ...over,
})

/** Processes that share what they read. */
function start({ processes = 1, leases = makeMemoryLeases() as LeaseStore } = {}) {
  const clock = makeClock()
  const shared = makeMemoryCache({ clock, maxBytes: 10_000_000, maxEntryBytes: 10_000_000 })
  const late: unknown[] = []
  const reads: CallContext[] = []
  const all = Array.from({ length: processes }, () =>
    makeReadings({
      clock,
      leases,
      shared: processes === 1 ? null : shared,
      onLateFailure: (error) => late.push(error),
    }),
  )
  let answer: () => Promise<Uint8Array> = async () => Buffer.from(`reading ${reads.length}`)
  const get = async (
    options: Partial<CallContext> & { process?: number; version?: number } = {},
  ) => {
    const { process = 0, version = 1, ...over } = options
    const reading = await all[process]?.get({
      name: 'all',
      login: { ...login, version },
      maxAgeMs: hourMs,
      call: call(over),
      read(given) {
        reads.push(given)
        return answer()
      },
    })
    return String(reading?.body)
  }
  return {
    clock,
    all,
    late,
    reads,
    get,
    answerWith(next: typeof answer) {
      answer = next
    },
  }
}

test('R36: one reading serves every read until it is too old, with the time at which it began', async () => {
  const { clock, all, reads, get } = start()
  assert.equal(await get(), 'reading 1')
  clock.pass(hourMs)
  assert.equal(await get(), 'reading 1')
  const kept = await all[0]?.peek({ name: 'all', login, maxAgeMs: hourMs })
  assert.equal(kept?.readAt, clock.now() - hourMs)
  clock.pass(1)
  assert.equal(await all[0]?.peek({ name: 'all', login, maxAgeMs: hourMs }), null)
  assert.equal(await get(), 'reading 2')
  assert.equal(reads.length, 2)
})

test('R36: a press of the person reads anew, and everybody has what it brought', async () => {
  const { clock, reads, get } = start()
  await get()
  assert.equal(await get({ person }), 'reading 2')
  const both = await Promise.all([get({ person }), get({ person })])
  assert.deepEqual(both, ['reading 3', 'reading 3'])
  clock.pass(60_000)
  assert.equal(await get(), 'reading 3')
  assert.deepEqual(reads[1]?.person, person)
})

test('R36: a press that waits for another process has what that one reads meanwhile', async () => {
  const { get, reads, answerWith } = start({ processes: 2 })
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  answerWith(() => promise)
  const theirs = get({ process: 0 })
  await new Promise((done) => setTimeout(done, 10))
  const pressed = get({ process: 1, person })
  resolve(Buffer.from('theirs'))
  assert.deepEqual(await Promise.all([theirs, pressed]), ['theirs', 'theirs'])
  assert.equal(reads.length, 1)
})

test('a reading of earlier credentials is not used', async () => {
  const { get } = start()
  await get()
  assert.equal(await get({ version: 2 }), 'reading 2')
})

test('a reading that begins after now, because the clock was set back, is not used', async () => {
  const { clock, get } = start()
  await get()
  clock.pass(-60_000)
  assert.equal(await get(), 'reading 2')
})

for (const processes of [1, 2]) {
  test(`of ${processes === 1 ? 'one process' : 'two processes'} one caller reads and the others wait for it`, async () => {
    const { reads, get, answerWith } = start({ processes })
    const { promise, resolve } = Promise.withResolvers<Uint8Array>()
    answerWith(() => promise)
    const waiting = [0, 1, 2, 3].map((at) => get({ process: at % processes }))
    await new Promise((done) => setTimeout(done, 20))
    resolve(Buffer.from('theirs'))
    assert.deepEqual(await Promise.all(waiting), ['theirs', 'theirs', 'theirs', 'theirs'])
    assert.equal(reads.length, 1)
  })
}

test('R36: what comes after its caller has left is kept for the next one', async () => {
  const { reads, get, late, answerWith } = start()
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  answerWith(() => promise)
  const leaving = new AbortController()
  const first = get({ signal: leaving.signal })
  await new Promise((done) => setTimeout(done, 10))
  leaving.abort(new Error('the caller left'))
  await assert.rejects(first, /the caller left/)
  assert.equal(reads[0]?.signal.aborted, false)
  resolve(Buffer.from('late'))
  assert.equal(await get(), 'late')
  assert.equal(reads.length, 1)
  assert.deepEqual(late, [])
})

test('a failure reaches all who wait, is kept for nobody, and is reported when nobody waits', async () => {
  const { get, late, answerWith } = start()
  answerWith(() => Promise.reject(new Error('they are away')))
  const both = await Promise.allSettled([get(), get()])
  assert.deepEqual(
    both.map((one) => one.status === 'rejected' && one.reason.message),
    ['they are away', 'they are away'],
  )
  assert.deepEqual(late, [])
  const { promise, reject } = Promise.withResolvers<Uint8Array>()
  answerWith(() => promise)
  const leaving = new AbortController()
  const alone = get({ signal: leaving.signal })
  await new Promise((done) => setTimeout(done, 10))
  leaving.abort(new Error('the caller left'))
  await assert.rejects(alone, /the caller left/)
  const failure = new Error('they are away again')
  reject(failure)
  await new Promise((done) => setTimeout(done, 10))
  assert.deepEqual(late, [failure])
  answerWith(async () => Buffer.from('well'))
  assert.equal(await get(), 'well')
})

test('a caller who waits for another process waits no longer than their own time', async () => {
  const taken: LeaseStore = { acquire: () => ({ lease: null, retryMs: 1000 }) }
  const { get } = start({ leases: taken })
  await assert.rejects(get({ signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
})

test('the end of the process ends what is on its way, and nothing is reported', async () => {
  const { all, late, reads, get, answerWith } = start()
  answerWith(
    () =>
      new Promise((_resolve, reject) => {
        reads[0]?.signal.addEventListener('abort', () => reject(reads[0]?.signal.reason))
      }),
  )
  const waiting = assert.rejects(get(), { name: 'AbortError' })
  await new Promise((done) => setTimeout(done, 10))
  await all[0]?.close()
  await waiting
  assert.deepEqual(late, [])
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { makeMemoryCache } from '#fast/memory-cache.ts'
import { makeMemoryLeases } from '#fast/memory-leases.ts'
import type { LeaseStore } from '#fast/port.ts'
import type { LoginId, UserId } from '#kernel/ids.ts'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import type { CallContext } from './login.ts'
import { makeReadings } from './readings.ts'

const login = { id: 'login' as LoginId, version: 1, secret: 'secret', userId: 'ann' as UserId }
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
    options: Partial<CallContext> & { process?: number; secret?: string } = {},
  ) => {
    const { process = 0, secret = login.secret, ...over } = options
    const reading = await all[process]?.get({
      name: 'all',
      login: { ...login, secret },
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

test('R36: a link reads anew, and what it brought serves the login that is stored then', async () => {
  const { get } = start()
  await get()
  assert.equal(await get({ isAnew: true }), 'reading 2')
  assert.equal(await get(), 'reading 2')
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

for (const processes of [1, 2]) {
  test(`R36: a press reads anew after what began before it, in ${processes === 1 ? 'one process' : 'two processes'}`, async () => {
    for (const isFailing of [false, true]) {
      const { clock, get, reads, answerWith } = start({ processes })
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
      answerWith(() => promise)
      const [earlier] = [Promise.allSettled([get()]), await setImmediate()]
      clock.pass(1)
      const pressed = get({ process: processes - 1, person })
      await setImmediate()
      answerWith(async () => Buffer.from('after the press'))
      if (isFailing) reject(new Error('they are away'))
      else resolve(Buffer.from('before the press'))
      assert.equal(await pressed, 'after the press')
      const [{ status }] = await earlier
      assert.equal(status, isFailing ? 'rejected' : 'fulfilled')
      assert.equal(await get(), 'after the press')
      assert.equal(reads.length, 2)
    }
  })
}

test('R36: a press reads once, though the clock is set back while it reads', async () => {
  const { clock, get, reads, answerWith } = start()
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  answerWith(() => promise)
  const pressed = get({ person })
  clock.pass(-60_000)
  await setImmediate()
  resolve(Buffer.from('pressed'))
  assert.equal(await pressed, 'pressed')
  assert.equal(reads.length, 1)
})

test('a reading of earlier credentials is not used', async () => {
  const { get } = start()
  await get()
  assert.equal(await get({ secret: 'another' }), 'reading 2')
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
  const waiting = assert.rejects(get(), ProcessStopping)
  await new Promise((done) => setTimeout(done, 10))
  await all[0]?.close()
  await waiting
  assert.deepEqual(late, [])
})

/** Readings that hardly become smaller, of people who read one after another. */
function startPeople({ processes = 1, isGone = async () => false } = {}) {
  const clock = makeClock()
  const shared = makeMemoryCache({ clock, maxBytes: 64_000_000, maxEntryBytes: 1_000_000 })
  const sharedKeys = new Set<string>()
  const noting: typeof shared = {
    ...shared,
    set(key, ...rest) {
      sharedKeys.add(key)
      return shared.set(key, ...rest)
    },
  }
  const all = Array.from({ length: processes }, () =>
    makeReadings({
      ...{ clock, leases: makeMemoryLeases(), isGone, onLateFailure: () => undefined },
      shared: processes === 1 ? null : noting,
    }),
  )
  let reads = 0
  const get = async (userId: string, name: string, { bytes = 100, process = 0 } = {}) => {
    const before = reads
    await all[process]?.get({
      name,
      login: { ...login, id: userId as LoginId, userId: userId as UserId, secret: `of ${userId}` },
      maxAgeMs: hourMs,
      call: call(),
      async read() {
        reads += 1
        return randomBytes(bytes)
      },
    })
    return reads === before ? 'kept' : 'read'
  }
  const forget = (userId: string, { process = 0, isAll = false } = {}) =>
    all[process]?.forget({ userId: userId as UserId, secret: isAll ? null : `of ${userId}` })
  /** Whether processes share anything of this user. */
  const isShared = (userId: string) =>
    [...sharedKeys].some(
      (key) => key.startsWith(`reading:{${userId}}`) && shared.get(key).kind === 'hit',
    )
  return { get, forget, isShared }
}

test('R36: what one person reads evicts no reading of another, however much it is', async () => {
  for (const processes of [1, 2]) {
    const { get } = startPeople({ processes })
    await get('ann', 'all')
    for (let at = 0; at < 20; at += 1) await get('bob', `reading ${at}`, { bytes: 1_900_000 })
    assert.equal(await get('ann', 'all'), 'kept')
    assert.equal(await get('bob', 'reading 19', { bytes: 1_900_000 }), 'kept')
    if (processes === 1) assert.equal(await get('bob', 'reading 0', { bytes: 10 }), 'read')
  }
})

test('R36: a reading that is larger than a person’s share is served, and not kept', async () => {
  const { get } = startPeople()
  await get('bob', 'small')
  assert.equal(await get('bob', 'large', { bytes: 2_200_000 }), 'read')
  assert.equal(await get('bob', 'large', { bytes: 2_200_000 }), 'read')
  assert.equal(await get('bob', 'small'), 'kept')
})

test('R36: a reading that is larger than a cached answer may be reaches the other processes', async () => {
  const { get } = startPeople({ processes: 2 })
  await get('ann', 'all', { bytes: 1_500_000 })
  assert.equal(await get('ann', 'all', { process: 1 }), 'kept')
})

test('what is forgotten is read again, in every process that shares it; that of others stays', async () => {
  for (const isAll of [false, true]) {
    const { get, forget, isShared } = startPeople({ processes: 2 })
    await get('ann', 'all')
    assert.equal(isShared('ann'), true)
    await get('bob', 'all')
    await forget('ann', { isAll })
    assert.equal(isShared('ann'), false)
    assert.equal(await get('ann', 'all', { process: 1 }), 'read')
    assert.equal(await get('bob', 'all', { process: 1 }), 'kept')
  }
})

test('what comes after its login was deleted is not kept', async () => {
  let isGone = false
  const { get, isShared } = startPeople({ processes: 2, isGone: async () => isGone })
  isGone = true
  assert.equal(await get('ann', 'all'), 'read')
  assert.equal(isShared('ann'), false)
  assert.equal(await get('ann', 'all'), 'read')
})

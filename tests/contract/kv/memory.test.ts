/**
 * Fast state in memory: the contract on a still clock, and what only memory promises: bounds against keys
 * that unauthenticated callers choose, bytes counted, answers at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakerRule } from '#fast/breaker-rule.ts'
import { makeMemoryBreakers } from '#fast/memory-breakers.ts'
import { makeMemoryCache } from '#fast/memory-cache.ts'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { openKv } from '#fast/open.ts'
import { type WindowPurpose, windowBounds } from '#fast/port.ts'
import { newAdmission } from './admit-contract.ts'
import { testKv } from './kv-contract.ts'

const kib = 1024
const minute = 60_000

function stillClock() {
  let now = Date.UTC(2026, 0, 1)
  return {
    clock: { now: () => now },
    pass: (ms: number) => {
      now += ms
    },
  }
}

testKv('fast state in memory', async () => {
  const time = stillClock()
  const kv = await openKv({
    redisUrl: null,
    clock: time.clock,
    cacheMaxBytes: 8 * kib * kib,
    cacheMaxEntryBytes: kib * kib,
    cacheKey: new Uint8Array(32),
  })
  return {
    kv,
    scale: (ms) => ms,
    pass: async (ms) => time.pass(ms),
    slackMs: 0,
    still: true,
    close: () => kv.close(),
  }
})

const answerOf = (size: number) => ({ body: new Uint8Array(size), truncated: false })

test('the cache keeps its byte bound by evicting the least recently used entries', () => {
  const { clock } = stillClock()
  const cache = makeMemoryCache({ clock, maxBytes: 10 * kib, maxEntryBytes: 4 * kib })
  cache.set('first', answerOf(4 * kib), minute)
  cache.set('second', answerOf(4 * kib), minute)
  cache.get('first')
  cache.set('third', answerOf(4 * kib), minute)
  assert.equal(cache.get('second').kind, 'miss')
  assert.equal(cache.get('first').kind, 'hit')
  assert.equal(cache.get('third').kind, 'hit')
})

test('the cache keeps its bound of 65,536 entries however small they are, the least recently used goes first', () => {
  const { clock } = stillClock()
  const cache = makeMemoryCache({ clock, maxBytes: kib * kib * kib, maxEntryBytes: kib })
  for (let i = 0; i < 65_536; i += 1) cache.set(`${i}`, answerOf(0), minute)
  cache.get('0')
  cache.set('2', answerOf(0), minute)
  assert.equal(cache.get('1').kind, 'hit', 'one that is stored again takes no place')
  cache.set('one more', answerOf(0), minute)
  assert.deepEqual(
    ['0', '1', '2', '3', '4', 'one more'].map((key) => cache.get(key).kind),
    ['hit', 'hit', 'hit', 'miss', 'hit', 'hit'],
  )
})

test('a user over the share evicts only their own answers, the oldest first', () => {
  const { clock } = stillClock()
  const cache = makeMemoryCache({ clock, maxBytes: 80 * kib, maxEntryBytes: 4 * kib })
  cache.set('other', answerOf(4 * kib), minute, 'bob')
  for (let i = 0; i < 100; i += 1) cache.set(`mine ${i}`, answerOf(4 * kib), minute, 'ann')
  assert.equal(cache.get('other').kind, 'hit')
  const kept = Array.from({ length: 100 }, (_, i) => i).filter(
    (i) => cache.get(`mine ${i}`).kind === 'hit',
  )
  assert.deepEqual(kept, [98, 99])
})

test('an answer that is stored again, or has expired, does not count twice', () => {
  const time = stillClock()
  const cache = makeMemoryCache({ clock: time.clock, maxBytes: 80 * kib, maxEntryBytes: 4 * kib })
  cache.set('first', answerOf(4 * kib), 2 * minute, 'ann')
  for (let i = 0; i < 10; i += 1) cache.set('again', answerOf(4 * kib), minute, 'ann')
  assert.equal(cache.get('first').kind, 'hit')
  time.pass(minute)
  cache.sweep()
  cache.set('new', answerOf(4 * kib), minute, 'ann')
  assert.equal(cache.get('first').kind, 'hit')
})

test('keys count towards the byte bound, so that long keys with empty bodies fill it too', () => {
  const { clock } = stillClock()
  const cache = makeMemoryCache({ clock, maxBytes: 10 * kib, maxEntryBytes: kib })
  for (let i = 0; i < 10; i += 1) cache.set(`${i}${'k'.repeat(2 * kib)}`, answerOf(0), minute)
  const kept = Array.from({ length: 10 }, (_, i) => cache.get(`${i}${'k'.repeat(2 * kib)}`).kind)
  assert.equal(kept.filter((kind) => kind === 'hit').length, 2)
})

test('a cache of 0 bytes stores nothing and says so', () => {
  const { clock } = stillClock()
  const cache = makeMemoryCache({ clock, maxBytes: 0, maxEntryBytes: kib })
  assert.equal(cache.set('k', answerOf(1), minute), false)
  assert.equal(cache.get('k').kind, 'miss')
})

test('a sweep removes expired answers and nothing else', () => {
  const time = stillClock()
  const cache = makeMemoryCache({ clock: time.clock, maxBytes: 10 * kib, maxEntryBytes: kib })
  // The entry that has not expired is the least recently used: if expired ones still counted, it would be
  // evicted first.
  cache.set('alive', answerOf(kib), 2 * minute)
  for (let i = 0; i < 5; i += 1) cache.set(`dead ${i}`, answerOf(kib), minute)
  time.pass(minute)
  cache.sweep()
  for (let i = 0; i < 4; i += 1) cache.set(`new ${i}`, answerOf(kib), minute)
  assert.equal(cache.get('alive').kind, 'hit')
  assert.equal(cache.get('dead 0').kind, 'miss')
})

test('unknown keys cannot grow the windows without bound; used-up windows are kept', () => {
  const { clock } = stillClock()
  const windows = makeMemoryWindows(clock, { pre: 100 })
  windows.take('pre:used up', 1, minute)
  for (let i = 0; i < 1000; i += 1) windows.take(`pre:stranger ${i}`, 5, minute)
  assert.equal(windows.take('pre:used up', 1, minute).allowed, false)
  assert.equal(windows.peek('pre:stranger 0', 5, minute).remaining, 5, 'the oldest went')
  assert.equal(windows.peek('pre:stranger 999', 5, minute).remaining, 4, 'the newest is there')
})

test('of windows that are all used up the oldest is evicted, and an expired one before any other', () => {
  const time = stillClock()
  const windows = makeMemoryWindows(time.clock, { pre: 3 })
  for (const name of ['a', 'b', 'c', 'd']) windows.take(`pre:${name}`, 1, minute)
  assert.equal(windows.peek('pre:a', 1, minute).allowed, true)
  assert.equal(windows.peek('pre:b', 1, minute).allowed, false)
  time.pass(minute / 2)
  windows.take('pre:e', 1, minute)
  windows.take('pre:f', 9, minute)
  time.pass(minute / 2)
  windows.take('pre:g', 1, minute)
  assert.equal(windows.peek('pre:f', 9, minute).remaining, 8, 'not used up, but still running')
  assert.equal(windows.peek('pre:e', 1, minute).allowed, false)
})

test('a window that was given back and used up again is remembered as used up', () => {
  const { clock } = stillClock()
  const windows = makeMemoryWindows(clock, { pre: 10 })
  for (let i = 0; i < 2; i += 1) windows.take('pre:mine', 2, minute)
  windows.giveBack('pre:mine', 2, minute)
  windows.take('pre:mine', 2, minute)
  for (let i = 0; i < 100; i += 1) windows.take(`pre:stranger ${i}`, 5, minute)
  assert.equal(windows.take('pre:mine', 2, minute).allowed, false)
})

test('a window whose points were all given back leaves nothing behind', () => {
  const { clock } = stillClock()
  const windows = makeMemoryWindows(clock, { pre: 2 })
  windows.take('pre:counted', 5, minute)
  for (let i = 0; i < 100; i += 1) {
    windows.take(`pre:good ${i}`, 5, minute)
    windows.giveBack(`pre:good ${i}`, 5, minute)
  }
  assert.equal(windows.peek('pre:counted', 5, minute).remaining, 4)
})

test('filling the windows of one purpose evicts none of another', () => {
  const { clock } = stillClock()
  const windows = makeMemoryWindows(clock)
  const purposes = Object.keys(windowBounds) as readonly WindowPurpose[]
  for (const purpose of purposes) windows.take(`${purpose}:counted`, 5, minute)
  for (let i = 0; i < 150_000; i += 1) windows.take(`pre:${i}`, 5, minute)
  for (const purpose of purposes.filter((name) => name !== 'pre')) {
    assert.equal(windows.peek(`${purpose}:counted`, 5, minute).remaining, 4, purpose)
  }
})

test('a login of fifteen hundred is asked no sooner again than one of two', () => {
  const { clock } = stillClock()
  const windows = makeMemoryWindows(clock)
  for (let i = 0; i < 1500; i += 1) windows.take(`alive:${i}`, 1, minute)
  assert.equal(windows.take('alive:0', 1, minute).allowed, false)
})

test('unauthenticated keys cannot grow the breakers', () => {
  const { clock } = stillClock()
  const breakers = makeMemoryBreakers(clock, breakerRule, 100)
  for (const key of ['busy', 'idle']) {
    for (let i = 0; i < 3; i += 1) breakers.fail(key, false)
  }
  for (let i = 0; i < 1000; i += 1) {
    breakers.fail(`stranger ${i}`, false)
    assert.equal(breakers.check('busy').kind, 'open')
  }
  assert.equal(breakers.check('idle').kind, 'closed')
})

test('R21: a failure exactly a minute old counts no more, one a millisecond younger does', () => {
  for (const [age, kind] of [
    [minute, 'closed'],
    [minute - 1, 'open'],
  ] as const) {
    const time = stillClock()
    const breakers = makeMemoryBreakers(time.clock)
    breakers.fail('k', false)
    time.pass(age)
    breakers.fail('k', false)
    breakers.fail('k', false)
    assert.equal(breakers.check('k').kind, kind)
  }
})

test('a breaker that was not used for an hour after its cooldown is deleted', () => {
  const time = stillClock()
  const breakers = makeMemoryBreakers(time.clock)
  for (let i = 0; i < 3; i += 1) breakers.fail('k', false)
  time.pass(minute + 60 * minute - 1)
  assert.equal(breakers.check('k').kind, 'probe')
  time.pass(1)
  assert.equal(breakers.check('k').kind, 'closed')
})

test('memory answers at once, without a turn of the event loop, and is not shared', async () => {
  const { clock } = stillClock()
  const kv = await openKv({
    redisUrl: null,
    clock,
    cacheMaxBytes: kib,
    cacheMaxEntryBytes: kib,
    cacheKey: new Uint8Array(32),
  })
  assert.deepEqual(kv.connections(), [])
  const answers = [
    kv.cache.get('k'),
    kv.cache.set('k', answerOf(1), minute),
    kv.windows.take('key:k', 1, minute),
    kv.windows.peek('key:k', 1, minute),
    kv.leases.acquire('k', 1),
    kv.breakers.check('k'),
    kv.admit(newAdmission()),
  ]
  assert.ok(answers.every((answer) => !(answer instanceof Promise)))
  await kv.close()
})

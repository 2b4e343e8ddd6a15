/** Walks that are held: within a bound of bytes, no longer than their life, and each let go of exactly when it is over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Walk } from './walk.ts'
import { openWalks } from './walks.ts'

interface FakeWalk extends Walk<string> {
  bytes: number
  closed: number
}

function makeFake(bytes: number): FakeWalk {
  return {
    bytes,
    closed: 0,
    window: () => Promise.reject(new Error('not asked for here')),
    hasEmptyStream: () => false,
    believe() {},
    isResumed: () => true,
    size() {
      return this.bytes
    },
    close() {
      this.closed += 1
    },
  }
}

function openFakes(maxBytes: number) {
  let now = 1000
  const walks = openWalks({ maxBytes, clock: { now: () => now } })
  return {
    walks,
    pass: (ms: number) => {
      now += ms
    },
    begin(key: string, bytes: number, ttlMs = 60_000) {
      const fresh = makeFake(bytes)
      const { walk } = walks.open(key, ttlMs, () => fresh)
      return walk as FakeWalk
    },
  }
}

test('R19: a walk is shared for its life, and let go of when another takes its place', () => {
  const { walks, pass, begin } = openFakes(10_000)
  const first = begin('query', 100, 5000)
  walks.keep('query', first)
  assert.equal(begin('query', 100, 5000), first)
  assert.equal(first.closed, 0, 'storing it anew does not end it')
  pass(5000)
  const second = begin('query', 100, 5000)
  assert.notEqual(second, first)
  assert.deepEqual([first.closed, second.closed], [1, 0])
  walks.close()
})

test('the one used longest ago is let go of when together they are too large', () => {
  const { walks, begin } = openFakes(10_000)
  const [old, middle, young] = [begin('old', 10), begin('middle', 10), begin('young', 10)]
  begin('old', 10)
  young.bytes = 7000
  walks.keep('young', young)
  assert.deepEqual([old.closed, middle.closed, young.closed], [0, 1, 0])
  walks.close()
})

test('one that outgrew the bound of all is let go of', () => {
  const { walks, begin } = openFakes(10_000)
  const walk = begin('query', 10)
  walk.bytes = 20_000
  walks.keep('query', walk)
  assert.equal(walk.closed, 1)
  assert.notEqual(begin('query', 10), walk)
  walks.close()
})

test('one that is dropped is let go of, its successor is not', () => {
  const { walks, begin } = openFakes(10_000)
  const walk = begin('query', 10)
  walks.drop('query', walk)
  const next = begin('query', 10)
  walks.drop('query', walk)
  assert.deepEqual([walk.closed, next.closed], [1, 0])
  walks.close()
  assert.equal(next.closed, 1)
})

test('R19: what is over is let go of although nobody asks for it', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { walks, pass, begin } = openFakes(10_000)
  const [over, alive] = [begin('over', 10, 10_000), begin('alive', 10, 90_000)]
  pass(30_000)
  t.mock.timers.tick(30_000)
  assert.deepEqual([over.closed, alive.closed], [1, 0])
  walks.close()
})

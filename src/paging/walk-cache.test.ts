/**
 * Walks in memory: within a bound of bytes, no longer than their life, and each closed exactly when it is evicted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Walk } from './walk.ts'
import { openWalks } from './walk-cache.ts'

interface FakeWalk extends Walk<string> {
  bytes: number
  closed: number
}

function makeFake(bytes: number, expiresAt: number): FakeWalk {
  return {
    bytes,
    closed: 0,
    window: () => Promise.reject(new Error('not asked for here')),
    expiresAt: () => expiresAt,
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
  const walks = openWalks({
    maxPageBytes: 0,
    maxIndexBytes: maxBytes,
    clock: { now: () => now },
    shared: null,
  })
  return {
    walks,
    pass: (ms: number) => {
      now += ms
    },
    begin(key: string, bytes: number, ttlMs = 60_000) {
      return walks.open(key, ttlMs, ({ expiresAt }) => makeFake(bytes, expiresAt)) as FakeWalk
    },
  }
}

test('R19: a walk is shared for its life, and closed when another replaces it', () => {
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

test('the least recently used walk is closed when all together are too large', () => {
  const { walks, begin } = openFakes(10_000)
  const [old, middle, young] = [begin('old', 10), begin('middle', 10), begin('young', 10)]
  begin('old', 10)
  young.bytes = 7000
  walks.keep('young', young)
  assert.deepEqual([old.closed, middle.closed, young.closed], [0, 1, 0])
  walks.close()
})

test('a walk that outgrew the bound of all walks is closed', () => {
  const { walks, begin } = openFakes(10_000)
  const walk = begin('query', 10)
  walk.bytes = 20_000
  walks.keep('query', walk)
  assert.equal(walk.closed, 1)
  assert.notEqual(begin('query', 10), walk)
  walks.close()
})

test('R19: an expired walk is closed even when no request uses it', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { walks, pass, begin } = openFakes(10_000)
  const [over, alive] = [begin('over', 10, 10_000), begin('alive', 10, 90_000)]
  pass(30_000)
  t.mock.timers.tick(30_000)
  assert.deepEqual([over.closed, alive.closed], [1, 0])
  walks.close()
})

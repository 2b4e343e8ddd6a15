/**
 * What is left of limits: it follows the requests, counts nothing itself, and is not known while the counting
 * server is away.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '#fast/memory.ts'
import type { KvConnection } from '#fast/port.ts'
import { nameWindow } from '#gate/gate.ts'
import { windowMs } from '#gate/throttle.ts'
import { type KeyId, newId, type UserId } from '#kernel/ids.ts'
import { makeBudget } from '#providers/budget.ts'
import type { Adapters } from '#providers/port.ts'
import { type LimitsLeftOptions, makeReadLimits } from './limits-left.ts'

const now = Date.UTC(2026, 10, 21, 10, 20)
const clock = { now: () => now }
const userId = newId<UserId>()
const keyId = newId<KeyId>()
const call = { signal: new AbortController().signal, priority: 'user' } as const

function stage(connections: readonly KvConnection[] = []) {
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1000, cacheMaxEntryBytes: 100 })
  const limits = { calls: 1000, windowMs: 3_600_000, reserve: 100, isByClock: true } as const
  const budget = makeBudget({ windows: kv.budgets, clock, name: 'up', ...limits })
  const key = { id: keyId, userId, name: 'budget', prefix: 'trib_live_x', createdAt: 1 }
  const ended = { expiresAt: null, lastUsedAt: null }
  const login = {
    id: newId(),
    userId,
    provider: 'up',
    upstreamUserId: 'x',
    secret: 's',
    version: 1,
  }
  const options = {
    clock,
    limits: { buckets: { cheap: 60, mid: 30, heavy: 0 }, concurrency: 4 },
    kv: { windows: kv.windows, connections: () => connections },
    agents: { list: async () => [] },
    adapters: {
      up: { callsLeft: async () => (await budget.peek?.('hash')) ?? null },
    } as unknown as Adapters,
    store: {
      keys: {
        list: async () => [
          { ...key, ...ended, revokedAt: null },
          { ...key, ...ended, id: newId<KeyId>(), name: 'revoked', revokedAt: 2 },
        ],
      },
      logins: { listIds: async () => [login.id], get: async () => login },
    } as unknown as LimitsLeftOptions['store'],
  }
  return { kv, budget, read: makeReadLimits(options) }
}

test('looking counts nothing: the windows are those that the requests left', async (t) => {
  const { kv, budget, read } = stage()
  t.after(() => kv.close())
  for (const _ of [1, 2, 3]) await kv.windows.take(nameWindow(userId, keyId, 'cheap'), 60, windowMs)
  await budget(call, 'hash')
  for (const _ of [1, 2]) {
    const { readers, providers } = await read(userId)
    assert.deepEqual(
      readers.map(({ name, left }) => [
        name,
        left.cheap?.remaining,
        left.mid?.remaining,
        left.heavy?.limit,
      ]),
      [['budget', 57, 30, 0]],
    )
    const left = {
      calls: 1000,
      left: 999,
      windowSeconds: 3600,
      resetSeconds: 2400,
      isShared: false,
    }
    assert.deepEqual(providers, [{ provider: 'up', left }])
  }
})

test('while the server of the limits is unavailable nothing is known; that of the cache does not matter', async (t) => {
  const away = { variable: 'REDIS_URL', isUp: false, trouble: 'no answer', evicts: null } as const
  const unknown = stage([{ ...away, name: 'limits' }])
  const known = stage([{ ...away, name: 'cache' }])
  t.after(() => Promise.all([unknown.kv.close(), known.kv.close()]))
  const { readers, providers } = await unknown.read(userId)
  assert.deepEqual(readers[0]?.left, { cheap: null, mid: null, heavy: null })
  assert.deepEqual(providers, [{ provider: 'up', left: null }])
  assert.equal((await known.read(userId)).readers[0]?.left.cheap?.remaining, 60)
})

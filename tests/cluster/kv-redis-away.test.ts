/**
 * Fast state while Redis is away: crashed, hung, full or never there. Limits hold in this process, the cache says `away`,
 * nothing throws, nothing waits, and Redis is used again as soon as it is back. Each test has a Redis of its own.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#kernel/time.ts'
import { openKv } from '#store/kv/open.ts'
import { openRedisKv } from '#store/kv/redis.ts'
import { silentLog, silentMetrics } from '#store/kv/report.ts'
import type { Kv } from '#store/kv-port.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'

const minute = 60_000
const answer = { body: Buffer.from('x'), truncated: false }

interface Stage {
  readonly server: RedisServer
  readonly kv: Kv
  /** What was logged: `warn` for away, `info` for in use. */
  readonly lines: string[]
  readonly stoodIn: Set<string>
}

async function setStage(context: TestContext, started = true): Promise<Stage> {
  const server = await makeRedisServer()
  if (started) await server.start()
  const lines: string[] = []
  const stoodIn = new Set<string>()
  const kv = await openKv({
    redisUrl: server.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
    log: { info: () => lines.push('info'), warn: () => lines.push('warn') },
    metrics: {
      shared() {},
      stoodIn: (concern) => stoodIn.add(concern),
      unreadable() {},
    },
  })
  context.after(async () => {
    await kv.close()
    await server.close()
  })
  return { server, kv, lines, stoodIn }
}

test('R6: limits, places and breakers are enforced while Redis is away, and it is used again', async (t) => {
  const { server, kv, lines, stoodIn } = await setStage(t)
  await kv.windows.take('k', 2, minute)
  const shared = await kv.leases.acquire('k', 1)
  await server.kill()
  await until(() => !kv.isShared())

  await assertEnforced(kv, 'k')
  assert.deepEqual(await kv.cache.get('k'), { kind: 'away' })
  assert.equal(await kv.cache.set('k', answer, minute), false)
  await kv.ping()
  await shared.lease?.release()
  assert.deepEqual([...stoodIn].sort(), ['breakers', 'cache', 'leases', 'windows'])

  await server.start()
  await until(() => kv.isShared())
  assert.equal(await kv.cache.set('k', answer, minute), true)
  assert.equal((await kv.cache.get('k')).kind, 'hit')
  assert.equal((await kv.windows.take('k', 2, minute)).remaining, 1)
  assert.deepEqual(lines, ['info', 'warn', 'info'])
})

test('a Redis that hangs costs one request a blink and the others nothing', async (t) => {
  const { server, kv } = await setStage(t)
  server.hang()
  const first = await timed(() => kv.windows.take('k', 5, minute))
  assert.ok(first.ms < 1000, `${first.ms} ms`)
  assert.equal(first.value.remaining, 4)
  const second = await timed(() => kv.windows.take('k', 5, minute))
  assert.ok(second.ms < 50, `${second.ms} ms`)
  assert.equal(second.value.remaining, 3)
  assert.deepEqual(await kv.cache.get('k'), { kind: 'away' })
  // Long enough for the connection itself to be given up and tried anew.
  await sleep(1500)
  assert.equal(kv.isShared(), false)
  server.wake()
  await until(() => kv.isShared())
  assert.equal((await kv.cache.get('k')).kind, 'miss')
})

test('a place that was granted after we stopped waiting does not stay taken', async (t) => {
  const { server, kv } = await setStage(t)
  server.hang()
  const { lease } = await kv.leases.acquire('k', 1)
  server.wake()
  await until(() => kv.isShared())
  const shared = await kv.leases.acquire('k', 1)
  assert.ok(shared.lease !== null)
  await lease?.release()
  assert.equal((await kv.leases.acquire('k', 1)).lease, null)
})

test('a Redis that is full counts as away, though it answers pings', async (t) => {
  const { server, kv } = await setStage(t)
  await server.call('CONFIG', 'SET', 'maxmemory', '1')
  await kv.ping()
  assert.equal(kv.isShared(), false)
  await assertEnforced(kv, 'k')
  await server.call('CONFIG', 'SET', 'maxmemory', '0')
  await until(() => kv.isShared())
})

test('it opens although Redis was never there, and finds it when it comes', async (t) => {
  const { server, kv, lines } = await setStage(t, false)
  assert.equal(kv.isShared(), false)
  assert.deepEqual(lines, ['warn'])
  await assertEnforced(kv, 'k')
  await server.start()
  await until(() => kv.isShared())
  assert.deepEqual(lines, ['warn', 'info'])
})

test('those in flight are counted again after a restart of Redis', async (t) => {
  const server = await makeRedisServer()
  await server.start()
  const kv = await openRedisKv({
    url: server.url,
    clock: systemClock,
    secret: randomBytes(32),
    maxEntryBytes: 1024,
    report: { log: silentLog, metrics: silentMetrics },
    leaseTiming: { leaseMs: 3000, renewEveryMs: 200 },
  })
  t.after(async () => {
    await kv.close()
    await server.close()
  })
  await kv.leases.acquire('k', 1)
  await server.kill()
  await server.start()
  await until(() => kv.isShared())
  await sleep(500)
  assert.equal((await kv.leases.acquire('k', 1)).lease, null)
})

test('closed fast state answers from memory and throws nothing', async (t) => {
  const { kv } = await setStage(t)
  await kv.close()
  assert.deepEqual(await kv.cache.get('k'), { kind: 'away' })
  assert.equal((await kv.windows.take('k', 1, minute)).allowed, true)
  await kv.close()
})

/** Memory must hold the limits by itself, from a count of nothing. */
async function assertEnforced(kv: Kv, key: string): Promise<void> {
  const taken = [1, 2, 3].map(() => kv.windows.take(key, 2, minute))
  const allowed = (await Promise.all(taken)).map((state) => state.allowed)
  assert.deepEqual(allowed, [true, true, false])
  const first = await kv.leases.acquire(key, 1)
  assert.ok(first.lease !== null)
  assert.equal((await kv.leases.acquire(key, 1)).lease, null)
  await first.lease.release()
  for (let i = 0; i < 3; i += 1) await kv.breakers.fail(key, false)
  assert.equal((await kv.breakers.check(key)).kind, 'open')
}

async function timed<T>(run: () => T | Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now()
  const value = await run()
  return { value, ms: performance.now() - started }
}

async function until(done: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!done()) {
    if (Date.now() > deadline) throw new Error('it did not come to pass within ten seconds')
    await sleep(20)
  }
}

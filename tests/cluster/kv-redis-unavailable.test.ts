/**
 * Fast state while Redis is unavailable: crashed, hung, full or never started. Limits hold in this process,
 * the cache says `unavailable`, nothing throws, nothing waits, and Redis is used again as soon as it is back.
 * Each test has a Redis of its own.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openKv } from '#fast/open.ts'
import type { Kv, WindowKey } from '#fast/port.ts'
import { openRedisKv } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import { answer, isShared, minute, setStage, timed, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

test('R6: limits, leases and breakers are enforced while Redis is unavailable, and it is used again afterwards', async (t) => {
  const { server, kv, lines, fellBack } = await setStage(t)
  await kv.windows.take('key:k', 2, minute)
  const shared = await kv.leases.acquire('k', 1)
  await server.kill()
  await until(() => !isShared(kv))

  await assertEnforced(kv, 'key:new')
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
  assert.equal(await kv.cache.set('k', answer, minute), false)
  await kv.ping()
  await shared.lease?.release()
  assert.deepEqual([...fellBack].sort(), ['breakers', 'cache', 'leases', 'windows'])

  await server.start()
  await until(() => isShared(kv))
  await until(() => kv.cache.set('k', answer, minute))
  await until(async () => (await kv.cache.get('k')).kind === 'hit')
  assert.equal((await kv.windows.take('key:k', 3, minute)).remaining, 1, 'the one before counts on')
  assert.deepEqual(lines, ['info', 'warn', 'info'])
})

test('a Redis that hangs delays requests briefly for a second, and then not at all', async (t) => {
  const { server, kv } = await setStage(t)
  server.hang()
  const first = await timed(() => kv.windows.take('key:k', 5, minute))
  assert.ok(first.ms < 1000, `${first.ms} ms`)
  assert.equal(first.value.remaining, 4)
  await until(() => !isShared(kv))
  const later = await timed(() => kv.windows.take('key:k', 5, minute))
  assert.ok(later.ms < 50, `${later.ms} ms`)
  assert.equal(later.value.remaining, 3)
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
  // Long enough for the connection itself to be closed and opened again.
  await sleep(1500)
  assert.equal(isShared(kv), false)
  server.wake()
  await until(() => isShared(kv))
  // One command may still be late on a machine that is busy; memory stands in for it.
  await until(async () => (await kv.cache.get('k')).kind === 'miss')
})

test('places whose holders ended during a stall are free when it is over, not when they expire', async (t) => {
  const { server, kv } = await setStage(t)
  const taken = await Promise.all([1, 2, 3, 4].map(() => kv.leases.acquire('k', 4)))
  assert.ok(taken.every(({ lease }) => lease !== null))
  server.hang()
  await taken[0]?.lease?.release()
  await until(() => !isShared(kv))
  await Promise.all(taken.slice(1).map(({ lease }) => lease?.release()))
  server.wake()
  await until(() => isShared(kv))
  const { ms, value } = await timed(() => freeAgain(kv, 'k', 4))
  assert.equal(value, true)
  assert.ok(ms < 2000, `${ms} ms`)
})

test('requests already in flight count while Redis is unavailable', async (t) => {
  const { server, kv } = await setStage(t)
  const [one, two] = [await kv.leases.acquire('k', 2), await kv.leases.acquire('k', 2)]
  await server.kill()
  await until(() => !isShared(kv))
  assert.equal((await kv.leases.acquire('k', 2)).lease, null)
  await one.lease?.release()
  assert.ok((await kv.leases.acquire('k', 2)).lease !== null)
  assert.equal((await kv.leases.acquire('k', 2)).lease, null)
  await two.lease?.release()
})

test('a place that was granted after we stopped waiting does not stay taken', async (t) => {
  const { server, kv } = await setStage(t)
  server.hang()
  const { lease } = await kv.leases.acquire('k', 1)
  server.wake()
  await until(() => isShared(kv))
  const shared = await kv.leases.acquire('k', 1)
  assert.ok(shared.lease !== null)
  await lease?.release()
  assert.equal((await kv.leases.acquire('k', 1)).lease, null)
})

test('a full Redis counts as unavailable, although it answers pings', async (t) => {
  const { server, kv } = await setStage(t)
  await server.call('CONFIG', 'SET', 'maxmemory', '1')
  await kv.ping()
  assert.equal(isShared(kv), false)
  await assertEnforced(kv, 'key:k')
  await server.call('CONFIG', 'SET', 'maxmemory', '0')
  await until(() => isShared(kv))
})

test('limits and cached answers on two servers are lost and found apart', async (t) => {
  const [limits, answers] = [await makeRedisServer(), await makeRedisServer()]
  await Promise.all([limits.start(), answers.start()])
  const kv = await openKv({
    redisUrl: limits.url,
    redisCacheUrl: answers.url,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
  })
  t.after(async () => {
    await kv.close()
    await Promise.all([limits.close(), answers.close()])
  })
  const up = () => kv.connections().map(({ name, isUp }) => `${name} ${isUp}`)
  await kv.windows.take('key:k', 2, minute)
  await kv.cache.set('k', answer, minute)
  assert.match(String(await limits.call('KEYS', '*')), /window/)
  assert.doesNotMatch(String(await limits.call('KEYS', '*')), /cache/)
  assert.match(String(await answers.call('KEYS', '*')), /cache/)
  assert.doesNotMatch(String(await answers.call('KEYS', '*')), /window/)

  await answers.kill()
  await until(() => up().includes('cache false'))
  assert.deepEqual(up(), ['limits true', 'cache false'])
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
  assert.equal((await kv.windows.take('key:k', 2, minute)).remaining, 0)
  await answers.start()
  await until(() => up().includes('cache true'))
  await until(() => kv.cache.set('k', answer, minute))
  await limits.kill()
  await until(() => up().includes('limits false'))
  await until(async () => (await kv.cache.get('k')).kind === 'hit')
  await assertEnforced(kv, 'key:unavailable')
})

test('it opens without a reachable Redis, and uses it once it is available', async (t) => {
  const { server, kv, lines } = await setStage(t, false)
  assert.equal(isShared(kv), false)
  assert.deepEqual(lines, ['warn'])
  await assertEnforced(kv, 'key:k')
  await server.start()
  await until(() => isShared(kv))
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
    report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
    leaseTiming: { leaseMs: 3000, renewEveryMs: 200 },
  })
  t.after(async () => {
    await kv.close()
    await server.close()
  })
  await kv.leases.acquire('k', 1)
  await server.kill()
  await server.start()
  await until(() => isShared(kv))
  await sleep(500)
  assert.equal((await kv.leases.acquire('k', 1)).lease, null)
})

test('closed fast state answers from memory and throws nothing', async (t) => {
  const { kv } = await setStage(t)
  await kv.close()
  assert.deepEqual(await kv.cache.get('k'), { kind: 'unavailable' })
  assert.equal((await kv.windows.take('key:k', 1, minute)).allowed, true)
  await kv.close()
})

/** Whether all `limit` places can be taken, asked for two seconds at most. */
async function freeAgain(kv: Kv, key: string, limit: number): Promise<boolean> {
  for (const deadline = Date.now() + 2000; Date.now() < deadline; await sleep(20)) {
    const taken = await Promise.all(
      Array.from({ length: limit }, () => kv.leases.acquire(key, limit)),
    )
    for (const { lease } of taken) await lease?.release()
    if (taken.every(({ lease }) => lease !== null)) return true
  }
  return false
}

/** Memory must hold the limits by itself, from a count of nothing. */
async function assertEnforced(kv: Kv, key: WindowKey): Promise<void> {
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

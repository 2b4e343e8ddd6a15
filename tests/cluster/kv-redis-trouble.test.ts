/**
 * Counts across outages of Redis, and when it counts as unavailable: late, slow, or refusing a needed
 * command.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { openKv } from '#fast/open.ts'
import type { Kv } from '#fast/port.ts'
import { systemClock } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import { makeCutLine } from './cut-line.ts'
import { isShared, minute, setStage, timed, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

test('R6: a window continues from the last count when Redis becomes unavailable, and when it answers again', async (t) => {
  const { server, kv } = await setStage(t)
  const take = async () => (await kv.windows.take('key:k', 10, minute)).remaining
  for (let count = 0; count < 4; count += 1) await take()
  await kv.windows.giveBack('key:k', 10, minute)
  await server.kill()
  await until(() => !isShared(kv))
  assert.equal(await take(), 6)
  assert.equal(await take(), 5)
  await kv.windows.giveBack('key:k', 10, minute)
  await server.start()
  await until(() => isShared(kv))
  assert.equal(await take(), 5, 'a restart of Redis forgets nothing that this process knew')
  server.hang()
  await until(() => !isShared(kv))
  const whileUnavailable = await take()
  server.wake()
  await until(() => isShared(kv))
  assert.ok((await take()) < whileUnavailable, 'what was counted meanwhile is counted there')
})

test('a used-up window stays used up whatever becomes of Redis', async (t) => {
  const { server, kv } = await setStage(t)
  const allowed = async () => (await kv.windows.take('sign-in:a', 3, minute)).allowed
  for (let count = 0; count < 3; count += 1) assert.equal(await allowed(), true)
  for (const change of [() => server.kill(), () => server.start()]) {
    const was = isShared(kv)
    await change()
    await until(() => isShared(kv) !== was)
    assert.equal(await allowed(), false)
  }
})

test('while Redis is unavailable, what is left of a provider’s budget is divided among the processes', async (t) => {
  const server = await makeRedisServer()
  await server.start()
  const cacheKey = randomBytes(32)
  const open = () =>
    openKv({
      redisUrl: server.url,
      clock: systemClock,
      cacheMaxBytes: 1024 * 1024,
      cacheMaxEntryBytes: 1024,
      cacheKey,
    })
  const kvs = [await open(), await open()]
  t.after(async () => {
    await Promise.all(kvs.map((kv) => kv.close()))
    await server.close()
  })
  // The first process counts the second one from its next heartbeat on.
  await sleep(3500)
  const spend = async (tries: number) => {
    let allowed = 0
    for (let call = 0; call < tries; call += 1) {
      for (const kv of kvs) {
        if ((await kv.budgets.take('budget:b', 200, minute)).allowed) allowed += 1
      }
    }
    return allowed
  }
  assert.equal(await spend(20), 40)
  await server.kill()
  await until(() => kvs.every((kv) => !isShared(kv)))
  const away = await spend(300)
  assert.ok(away <= 160 && away >= 150, `${away} of the 160 that were left`)
  await server.start()
  await until(() => kvs.every((kv) => isShared(kv)))
  // Each process has sent its counts by then without a further request.
  await sleep(300)
  const afterwards = await spend(200)
  // What each knew last may lack the other's last call: that much may be too much.
  assert.ok(40 + away + afterwards < 200 + kvs.length, `${40 + away + afterwards} of 200`)
})

test('a process that never saw Redis takes a quarter of what a provider allows', async (t) => {
  const { kv } = await setStage(t, false)
  let allowed = 0
  for (let call = 0; call < 300; call += 1) {
    if ((await kv.budgets.take('budget:b', 200, minute)).allowed) allowed += 1
  }
  assert.equal(allowed, 50)
  assert.equal((await kv.windows.peek('key:k', 200, minute)).remaining, 200)
})

test('of a share of the budget background work leaves as large a share to users', async (t) => {
  const { kv } = await setStage(t, false)
  const ask = makeBudget({
    windows: kv.budgets,
    clock: systemClock,
    name: 'b',
    calls: 200,
    windowMs: minute,
    reserve: 48,
  })
  const spend = async (priority: 'background' | 'user') => {
    const { signal } = new AbortController()
    let allowed = 0
    for (let call = 0; call < 100; call += 1) {
      if ((await ask({ priority, signal })).allowed) allowed += 1
    }
    return allowed
  }
  assert.deepEqual([await spend('background'), await spend('user')], [38, 12])
})

test('a Redis that is late once under load stays in use, with the same windows and leases', async (t) => {
  const { server, kv, lines } = await setStage(t)
  for (let count = 0; count < 5; count += 1) await kv.windows.take('key:k', 100, minute)
  server.hang()
  const flood = Array.from({ length: 500 }, () => kv.windows.take('key:flood', 10_000, minute))
  await sleep(400)
  server.wake()
  await Promise.all(flood)
  assert.equal(isShared(kv), true)
  assert.equal((await kv.windows.take('key:k', 100, minute)).remaining, 94)
  assert.deepEqual(lines, ['info'])
})

test('a Redis whose every answer is late counts as unavailable, and is used again when it is fast', async (t) => {
  const { server, kv } = await setStage(t)
  const slow = await makeCutLine({ host: '127.0.0.1', port: Number(new URL(server.url).port) })
  const late = await openKv({
    redisUrl: `redis://127.0.0.1:${slow.port}`,
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
  })
  t.after(async () => {
    await late.close()
    await slow.close()
  })
  assert.equal(isShared(late), true)
  slow.delay(600)
  const { ms } = await timed(() => late.windows.take('key:k', 5, minute))
  assert.ok(ms < 1000, `${ms} ms`)
  await until(() => !isShared(late))
  assert.match(late.connections()[0]?.trouble ?? '', /timed out/)
  slow.delay(0)
  await until(() => isShared(late))
  assert.equal(isShared(kv), true)
})

test('a Redis whose user may not run a needed command is unavailable, logged once, and used once it may', async (t) => {
  const { server } = await setStage(t)
  const rules = ['SETUSER', 'limited', 'on', '>pass', '~tributary:*', '+@all']
  for (const [denied, text] of [
    ['-evalsha', 'its user may not run EVALSHA'],
    ['-zadd', 'its user may not run ZADD'],
    ['-hdel', 'its user may not run HDEL'],
    ['-getrange', 'its user may not run GETRANGE'],
    ['resetkeys', 'its user may not use our keys (tributary:*)'],
  ] as const) {
    await server.call('ACL', ...rules, denied)
    const lines: string[] = []
    const note = (level: string) => (fields: object) => {
      lines.push(`${level} ${Reflect.get(fields, 'cause')}`)
    }
    const kv = await openKv({
      redisUrl: server.url.replace('//', '//limited:pass@'),
      clock: systemClock,
      cacheMaxBytes: 1024 * 1024,
      cacheMaxEntryBytes: 1024,
      cacheKey: randomBytes(32),
      log: { info: note('info'), warn: note('warn') },
    })
    t.after(() => kv.close())
    // Several rounds of the probe: it must not be called in use by one of them.
    for (let round = 0; round < 4; round += 1) {
      await kv.ping()
      assert.equal(isShared(kv), false, denied)
      await kv.windows.take('key:k', 5, minute)
    }
    assert.deepEqual(lines, [`warn ${text}`])
    assert.equal(kv.connections()[0]?.trouble, text)
    await server.call('ACL', ...rules)
    await until(() => isShared(kv))
  }
})

test('an eviction policy that drops limits is logged, and noeviction is not', async (t) => {
  const { server, kv } = await setStage(t)
  const evicts = async () => {
    await kv.ping()
    return kv.connections()[0]?.evicts
  }
  await server.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  assert.equal(await evicts(), null, 'without a bound nothing is dropped')
  await server.call('CONFIG', 'SET', 'maxmemory', '100mb')
  assert.equal(await evicts(), 'allkeys-lru')
  await server.call('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  assert.equal(await evicts(), null)
})

test('a user who may not run INFO has shared state, and nothing is printed beside the log', async (t) => {
  const server = await makeRedisServer()
  await server.start()
  t.after(() => server.close())
  await server.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~tributary:*', '+@all', '-info')
  const printed: unknown[] = []
  const { warn } = console
  console.warn = (...words) => printed.push(words)
  t.after(() => {
    console.warn = warn
  })
  const kv = await openKv({
    redisUrl: server.url.replace('//', '//app:pw@'),
    clock: systemClock,
    cacheMaxBytes: 1024 * 1024,
    cacheMaxEntryBytes: 1024,
    cacheKey: randomBytes(32),
  })
  t.after(() => kv.close())
  assert.equal(isShared(kv), true)
  assert.deepEqual(printed, [])
})

test('a server without the database of the URL, or with a new password, is unavailable and the log says why', async (t) => {
  const server = await makeRedisServer()
  await server.start()
  t.after(() => server.close())
  const open = async (redisUrl: string) => {
    const kv = await openKv({
      redisUrl,
      clock: systemClock,
      cacheMaxBytes: 1024 * 1024,
      cacheMaxEntryBytes: 1024,
      cacheKey: randomBytes(32),
    })
    t.after(() => kv.close())
    return kv
  }
  const reported = async (kv: Kv) => {
    await kv.ping()
    return kv.connections()[0]?.trouble
  }

  const none = await open(`${server.url}/99`)
  assert.equal(isShared(none), false, 'nothing is kept in database 0 instead')
  assert.equal(await reported(none), 'it has no database of the number in the URL')

  const second = await open(`${server.url}/2`)
  assert.equal(isShared(second), true)
  await second.windows.take('key:k', 10, minute)
  assert.match(String(await server.call('INFO', 'keyspace')), /db2:keys/)
  await server.call('CONFIG', 'SET', 'requirepass', 'new')
  const operator = new Redis(server.url.replace('//', '//:new@'))
  await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  operator.disconnect()
  await until(() => !isShared(second))
  const wanted = 'it requires a password and the URL has none'
  for (let tries = 0; tries < 50 && (await reported(second)) !== wanted; tries += 1) {
    await sleep(100)
  }
  assert.equal(await reported(second), wanted)
})

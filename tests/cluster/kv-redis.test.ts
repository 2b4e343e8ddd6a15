/**
 * Fast state shared through Redis: the contract by the server's own time on a shorter scale, what several
 * processes see of each other, and what Redis may never show to whoever reads it.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { breakerRule } from '#fast/breaker-rule.ts'
import type { Kv } from '#fast/port.ts'
import { openRedisKv, type RedisKvOptions } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import { testKv } from '../contract/kv/kv-contract.ts'
import { isShared } from './kv-stage.ts'

const url = readTestUrl()
const secret = randomBytes(32)
const prefix = `tributary-test-${randomUUID()}:`
const minute = 60_000
// A minute of the rules takes a second here.
const scale = (ms: number) => Math.round(ms / 60)

const shortRule = {
  failures: breakerRule.failures,
  windowMs: scale(breakerRule.windowMs),
  openMs: scale(breakerRule.openMs),
  probeMs: scale(breakerRule.probeMs),
  forgetMs: scale(breakerRule.forgetMs),
}
// Shorter than the product's ten seconds, and long enough for a machine that is busy.
const shortLeases = { leaseMs: 1000, renewEveryMs: 300 }

const opened: Kv[] = []

/** Whatever was opened is closed at the end, so that a test that fails does not keep the run alive. */
async function openShared(changes: Partial<RedisKvOptions> = {}): Promise<Kv> {
  const kv = await openRedisKv({
    url,
    clock: systemClock,
    secret,
    maxEntryBytes: 1024 * 1024,
    report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
    prefix,
    breakerRule: shortRule,
    leaseTiming: shortLeases,
    ...changes,
  })
  opened.push(kv)
  return kv
}

const raw = new Redis(url)
after(async () => {
  await Promise.all(opened.map((kv) => kv.close()))
  const keys = await listKeys()
  if (keys.length > 0) await raw.del(...keys)
  await raw.quit()
})

testKv('fast state in Redis', async () => {
  const kv = await openShared()
  assert.equal(isShared(kv), true)
  return {
    kv,
    scale,
    pass: async (ms) => void (await sleep(scale(ms) + 2)),
    slackMs: 200,
    still: false,
    close: () => kv.close(),
  }
})

describe('two processes on one Redis', () => {
  test('share the count of a window', async () => {
    await withTwo(async (one, two) => {
      const key = `key:${randomUUID()}` as const
      await one.windows.take(key, 3, minute)
      await two.windows.take(key, 3, minute)
      assert.equal((await one.windows.take(key, 3, minute)).remaining, 0)
      assert.equal((await two.windows.take(key, 3, minute)).allowed, false)
      await one.windows.giveBack(key, 3, minute)
      assert.equal((await two.windows.peek(key, 3, minute)).remaining, 1)
    })
  })

  test('share the places in flight', async () => {
    await withTwo(async (one, two) => {
      const key = randomUUID()
      const first = await one.leases.acquire(key, 2)
      const second = await two.leases.acquire(key, 2)
      assert.ok(first.lease !== null && second.lease !== null)
      assert.equal((await one.leases.acquire(key, 2)).lease, null)
      await second.lease.release()
      assert.ok((await one.leases.acquire(key, 2)).lease !== null)
    })
  })

  test('R21: share the breaker, and one of them gets the probe', async () => {
    await withTwo(async (one, two) => {
      const key = randomUUID()
      await one.breakers.fail(key, false)
      await two.breakers.fail(key, false)
      await one.breakers.fail(key, false)
      assert.equal((await two.breakers.check(key)).kind, 'open')
      await sleep(shortRule.openMs + 5)
      const states = await Promise.all([one, two, one, two].map((kv) => kv.breakers.check(key)))
      assert.equal(states.filter((state) => state.kind === 'probe').length, 1)
      await two.breakers.succeed(key, true)
      assert.equal((await one.breakers.check(key)).kind, 'closed')
    })
  })

  test('R10: serve each other what one of them stored', async () => {
    await withTwo(async (one, two) => {
      const key = randomUUID()
      await one.cache.set(key, { body: Buffer.from('shared'), truncated: true }, minute)
      const found = await two.cache.get(key)
      assert.ok(found.kind === 'hit')
      assert.equal(Buffer.from(found.answer.body).toString(), 'shared')
    })
  })

  test('the places of a process that died come back when its leases expire', async () => {
    const dying = await openShared({ leaseTiming: { ...shortLeases, renewEveryMs: minute } })
    const living = await openShared()
    const key = randomUUID()
    assert.ok((await dying.leases.acquire(key, 1)).lease !== null)
    assert.equal((await living.leases.acquire(key, 1)).lease, null)
    await sleep(shortLeases.leaseMs + 10)
    assert.ok((await living.leases.acquire(key, 1)).lease !== null)
  })

  test('the place of a process that died comes back beside one that is held on', async () => {
    const dying = await openShared({ leaseTiming: { ...shortLeases, renewEveryMs: minute } })
    const living = await openShared()
    const key = randomUUID()
    await dying.leases.acquire(key, 2)
    await living.leases.acquire(key, 2)
    await sleep(shortLeases.leaseMs + 10)
    assert.ok((await living.leases.acquire(key, 2)).lease !== null)
    assert.equal((await living.leases.acquire(key, 2)).lease, null)
  })

  test('the places of a process that stops in good order come back at once', async () => {
    const stopping = await openShared()
    const living = await openShared()
    const key = randomUUID()
    await stopping.leases.acquire(key, 1)
    await stopping.close()
    assert.ok((await living.leases.acquire(key, 1)).lease !== null)
  })
})

describe('what one user has in the cache', () => {
  const kib = 1024
  const body = (size: number) => ({ body: Buffer.alloc(size, 'x'), truncated: false })
  const hits = async (kv: Kv, keys: readonly string[]) => {
    const found = await Promise.all(keys.map((key) => kv.cache.get(key)))
    return found.filter(({ kind }) => kind === 'hit').length
  }

  test('stays within an eighth of it, over all processes, and evicts no other user’s entries', async () => {
    const small = { maxBytes: 800 * kib, prefix: `${prefix}${randomUUID()}:` }
    const [one, two] = [await openShared(small), await openShared(small)]
    await one.cache.set('other', body(10 * kib), minute, 'bob')
    const keys = Array.from({ length: 60 }, (_, index) => `mine ${index}`)
    for (const [index, key] of keys.entries()) {
      const kv = index % 2 === 0 ? one : two
      assert.equal(await kv.cache.set(key, body(10 * kib), minute + index * 1000, 'ann'), true)
      assert.equal((await kv.cache.get(key)).kind, 'hit', 'the newest is always there')
    }
    const kept = await hits(one, keys)
    assert.ok(kept >= 6 && kept <= 10, `${kept} answers of 10 KiB`)
    assert.equal((await two.cache.get('other')).kind, 'hit')
  })

  test('is counted once for an answer that is stored again, and not after its end', async () => {
    const kv = await openShared({ maxBytes: 800 * kib, prefix: `${prefix}${randomUUID()}:` })
    await kv.cache.set('first', body(10 * kib), minute, 'ann')
    for (let round = 0; round < 30; round += 1)
      await kv.cache.set('again', body(10 * kib), 50, 'ann')
    for (let index = 0; index < 30; index += 1) {
      await kv.cache.set(`short ${index}`, body(10 * kib), 1, 'ann')
      await sleep(3)
    }
    assert.equal((await kv.cache.get('first')).kind, 'hit')
  })

  test('is bounded in number too, however small the answers are', async () => {
    const kv = await openShared({ prefix: `${prefix}${randomUUID()}:` })
    const keys = Array.from({ length: 1500 }, (_, index) => `tiny ${index}`)
    for (const key of keys) await kv.cache.set(key, body(1), minute, 'ann')
    const kept = await hits(kv, keys)
    assert.ok(kept <= 1024 && kept >= 700, `${kept} answers`)
  })
})

describe('the content of Redis', () => {
  test('has no key, no query and no word of an answer in plain text', async () => {
    const kv = await openShared()
    const canary = `canary-${randomUUID()}`
    await kv.cache.set(canary, { body: Buffer.from(canary.repeat(50)), truncated: false }, minute)
    await kv.windows.take(`key:${canary}`, 5, minute)
    await kv.leases.acquire(canary, 5)
    await kv.breakers.fail(canary, false)
    const seen = await dumpAll()
    assert.ok(seen.keys >= 4)
    assert.equal(seen.text.includes('canary'), false)
  })

  test('cannot pass one answer off as another, nor change one: both are misses and counted', async () => {
    let unreadable = 0
    const metrics = {
      ...silentMetrics,
      unreadable() {
        unreadable += 1
      },
    }
    const kv = await openShared({ report: { log: silentLog, metrics, jobs: silentJobs } })
    // Another process: the one that stored an answer keeps it, and serves no bytes that it has not verified.
    const reader = await openShared({ report: { log: silentLog, metrics, jobs: silentJobs } })
    const [mine, yours] = [randomUUID(), randomUUID()]
    const nameOf = async (key: string, text: string) => {
      const before = new Set(await listKeys())
      await kv.cache.set(key, { body: Buffer.from(text), truncated: false }, minute)
      const added = (await listKeys()).filter((name) => !before.has(name))
      return added.find((name) => name.startsWith(`${prefix}cache:`)) ?? assert.fail('not stored')
    }
    const names = { mine: await nameOf(mine, 'mine'), yours: await nameOf(yours, 'yours') }
    const stored = await raw.getBuffer(names.mine)
    assert.ok(stored !== null)
    await raw.set(names.yours, stored, 'PX', minute)
    assert.equal((await reader.cache.get(yours)).kind, 'miss')
    for (const at of [0, 5, 20, 30, stored.length - 1]) {
      const changed = Buffer.from(stored)
      changed[at] = (changed[at] ?? 0) ^ 1
      await raw.set(names.mine, changed, 'PX', minute)
      assert.equal((await reader.cache.get(mine)).kind, 'miss', `byte ${at}`)
    }
    await raw.set(names.mine, 'x', 'PX', minute)
    assert.equal((await reader.cache.get(mine)).kind, 'miss')
    assert.equal(unreadable, 7)
    for (const key of [mine, yours]) assert.equal((await kv.cache.get(key)).kind, 'miss')
  })

  test('with another secret reads nothing of what this one stored', async () => {
    const [mine, other] = [await openShared(), await openShared({ secret: randomBytes(32) })]
    await mine.cache.set('k', { body: Buffer.from('x'), truncated: false }, minute)
    assert.equal((await other.cache.get('k')).kind, 'miss')
  })
})

test('everything left in Redis expires by itself', async () => {
  const kv = await openShared()
  const key = `key:${randomUUID()}` as const
  await kv.cache.set(key, { body: Buffer.from('x'), truncated: false }, minute)
  await kv.windows.take(key, 5, minute)
  await kv.leases.acquire(key, 5)
  for (let i = 0; i < 3; i += 1) await kv.breakers.fail(key, false)
  await kv.breakers.fail(randomUUID(), false)
  for (const one of await listKeys()) {
    assert.notEqual(await raw.pttl(one), -1, `${one} never expires`)
  }
})

async function withTwo(run: (one: Kv, two: Kv) => Promise<void>): Promise<void> {
  await run(await openShared(), await openShared())
}

async function listKeys(): Promise<string[]> {
  const keys: string[] = []
  for await (const some of raw.scanStream({ match: `${prefix}*`, count: 1000 })) keys.push(...some)
  return keys
}

async function dumpAll(): Promise<{ keys: number; text: string }> {
  const keys = await listKeys()
  const values = await Promise.all(keys.map((key) => raw.dumpBuffer(key)))
  const text = values.map((value) => value?.toString('latin1') ?? '').join('\n')
  return { keys: keys.length, text: `${keys.join('\n')}\n${text}` }
}

function readTestUrl(): string {
  const text = process.env.TEST_REDIS_URL
  if (text === undefined)
    throw new Error('TEST_REDIS_URL is not set: where is the Redis to test on?')
  return text
}

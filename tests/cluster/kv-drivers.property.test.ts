/**
 * Whatever is asked of fast state in whatever order, and however much time passes in between, the memory
 * driver and two processes on Redis answer the same: counts of windows, places in flight, cached answers,
 * breakers. Nobody waits: time passes in Redis by bringing every expiry nearer.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { openMemoryKv } from '#fast/memory.ts'
import type { AdmitRequest, Kv, Lease } from '#fast/port.ts'
import { openRedisKv } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'

/**
 * Every length of time is a multiple of it, so that the time that a run takes itself moves nothing across a
 * border.
 */
const tick = 10_000
let movedMs = 0
const clock = { ...systemClock, now: () => systemClock.now() + movedMs }
const prefix = 'drawn:'
const servers = [await makeRedisServer(), await makeRedisServer()] as const
const clients: Redis[] = []

before(async () => {
  for (const server of servers) {
    await server.start()
    clients.push(new Redis(server.url))
  }
})
after(async () => {
  for (const client of clients) client.disconnect()
  await Promise.all(servers.map((server) => server.close()))
})

/** Two processes that share everything, and one alone; `cache`: the server of cached answers. */
async function openSides(t: TestContext, cache: RedisServer) {
  const secret = randomBytes(32)
  const open = () =>
    openRedisKv({
      url: servers[0].url,
      cacheUrl: cache.url,
      clock,
      secret,
      prefix,
      maxEntryBytes: 1024,
      report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
    })
  const memory = openMemoryKv({ clock, cacheMaxBytes: 2 ** 26, cacheMaxEntryBytes: 1024 })
  const sides = { one: await open(), two: await open(), memory }
  t.after(() => Promise.all(Object.values(sides).map((kv) => kv.close())))
  return sides
}

// Places in flight do not expire while their process lives: it renews them.
const moveLua = `
local by = tonumber(ARGV[1])
local function earlier(text) return string.format('%.0f', tonumber(text) - by) end
local function shorten(key)
  local left = redis.call('PTTL', key)
  if left >= 0 and left <= by then redis.call('DEL', key) end
  if left > by then redis.call('PEXPIRE', key, left - by) end
end
for _, key in ipairs(redis.call('KEYS', ARGV[2] .. 'window:*')) do shorten(key) end
for _, key in ipairs(redis.call('KEYS', ARGV[2] .. 'cache:*')) do shorten(key) end
for _, key in ipairs(redis.call('KEYS', ARGV[2] .. 'cached:*')) do
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    if all[at] ~= 'total' then
      redis.call('HSET', key, all[at], (string.gsub(all[at + 1], '%d+$', earlier)))
    end
  end
  shorten(key)
end
for _, key in ipairs(redis.call('KEYS', ARGV[2] .. 'breaker:*')) do
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    redis.call('HSET', key, all[at], (string.gsub(all[at + 1], '%d+', earlier)))
  end
  shorten(key)
end
return 1
`

async function move(ticks: number): Promise<void> {
  await Promise.all(clients.map((client) => client.eval(moveLua, 0, ticks * tick, prefix)))
  movedMs += ticks * tick
}

const which = fc.nat({ max: 1 })
const name = fc.nat({ max: 2 })
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      window: fc.option(name, { freq: 9 }),
      places: fc.option(which, { freq: 2 }),
      answer: fc.option(name, { freq: 9 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const), index: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const), window: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('giveBack' as const), window: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('peek' as const), window: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), window: name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('acquire' as const), places: which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      answer: name,
      ticks: fc.integer({ min: 1, max: 20 }),
      size: fc.constantFrom(0, 1, 100, 1024, 1025),
      truncated: fc.boolean(),
      owned: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('get' as const), answer: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), all: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('check' as const), breaker: which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      breaker: which,
      probe: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('succeed' as const),
      breaker: which,
      probe: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('abandon' as const), breaker: which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ticks: fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constantFrom(20, 70)),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

/** Limits of the windows; one is none. */
const limits = [3, 5, 0]
const windowMs = 6 * tick

/** What one side holds during a history. */
interface Side {
  readonly owner: string
  readonly leases: (Lease | null)[]
}

/** Does one step on one side; returns what it answered, times in ticks. */
async function act(kv: Kv, { owner, leases }: Side, one: Step, count: number): Promise<unknown> {
  const windowOf = (index: number) => ({
    key: `key:{${owner}}:${index}` as const,
    limit: limits[index] ?? 0,
    windowMs,
  })
  const placesOf = (index: number) => ({ key: `key:{${owner}}place${index}`, limit: index + 1 })
  const answerOf = (index: number) => `${owner.length}:{${owner}}answer ${index}`
  const breakerOf = (index: number) => `${owner}:${index}`
  switch (one.kind) {
    case 'admit': {
      const admission: AdmitRequest = {
        window: one.window === null ? null : windowOf(one.window),
        places: one.places === null ? null : placesOf(one.places),
        answer: one.answer === null ? null : answerOf(one.answer),
        owner,
      }
      const admitted = await kv.admit(admission)
      if ('lease' in admitted) {
        const { lease, ...rest } = admitted
        leases.push(lease)
        return { ...rest, held: lease !== null }
      }
      return admitted
    }
    case 'release':
      return void (await leases[one.index % Math.max(1, leases.length)]?.release())
    case 'acquire': {
      const { key, limit } = placesOf(one.places)
      const { lease, ...rest } = await kv.leases.acquire(key, limit)
      leases.push(lease)
      return { ...rest, held: lease !== null }
    }
    case 'take':
    case 'peek':
    case 'giveBack': {
      const { key, limit } = windowOf(one.window)
      return kv.windows[one.kind](key, limit, windowMs)
    }
    case 'forget':
      return kv.windows.forget(windowOf(one.window).key)
    case 'store': {
      const body = Buffer.alloc(one.size, `${count}`)
      const answer = { body, truncated: one.truncated }
      const ownedBy = one.owned ? owner : undefined
      return kv.cache.set(answerOf(one.answer), answer, one.ticks * tick, ownedBy)
    }
    case 'get':
      return kv.cache.get(answerOf(one.answer))
    case 'drop':
      return kv.cache.drop(one.all ? null : owner)
    case 'check':
    case 'abandon':
      return kv.breakers[one.kind](breakerOf(one.breaker))
    case 'fail':
    case 'succeed':
      return kv.breakers[one.kind](breakerOf(one.breaker), one.probe)
    case 'pass':
      return undefined
  }
}

/**
 * The fields of the port's replies, and whether a place is held: drivers keep further ones for themselves.
 */
const fields = new Set([
  ...['kind', 'window', 'answer', 'body', 'truncated', 'held', 'retryMs', 'cooldownMs'],
  ...['allowed', 'limit', 'remaining', 'resetMs'],
])

/** Bytes as text, times in ticks. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (typeof value !== 'object' || value === null) return value
  const shown = Object.entries(value)
    .filter(([field]) => fields.has(field))
    .map(([field, own]) => [
      field,
      field.endsWith('Ms') ? Math.ceil(Number(own) / tick) : plain(own),
    ])
  return Object.fromEntries(shown)
}

const places = [
  ['one Redis', servers[0]],
  ['one Redis for limits and one for cached answers', servers[1]],
] as const
for (const [where, cache] of places)
  test(`the memory driver and two processes on ${where} answer every drawn history the same`, async (t) => {
    const { one, two, memory } = await openSides(t, cache)
    const seen = new Map<string, number>()
    const drawn = fc.record({ by: fc.boolean(), does: step })
    const history = fc.array(drawn, { minLength: 5, maxLength: 60, size: 'max' })
    const property = fc.asyncProperty(history, async (steps) => {
      const owner = randomUUID()
      const shared: Side = { owner, leases: [] }
      const local: Side = { owner, leases: [] }
      for (const [count, { by, does }] of steps.entries()) {
        if (does.kind === 'pass') {
          await move(does.ticks)
          continue
        }
        const there = plain(await act(by ? one : two, shared, does, count))
        const here = plain(await act(memory, local, does, count))
        assert.deepEqual(there, here, `step ${count}: ${JSON.stringify(does)}`)
        const { kind = 'none' } = (here ?? {}) as { readonly kind?: string }
        seen.set(`${does.kind} ${kind}`, (seen.get(`${does.kind} ${kind}`) ?? 0) + 1)
      }
      for (const { leases } of [shared, local])
        await Promise.all(leases.map((lease) => lease?.release()))
    })
    await fc.assert(property, { numRuns: 100 })
    for (const kind of ['refused', 'counted', 'full', 'hit', 'miss'])
      assert.ok((seen.get(`admit ${kind}`) ?? 0) > 0, kind)
  })

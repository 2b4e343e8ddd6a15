/** Redis crashes and restarts while two processes serve requests: no request fails, and no limit is lost. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fleet, type FleetUser, startFleet, until } from './fleet.ts'
import { type Sample, startLoad, tally } from './load.ts'
import type { Answer, ServerProcess } from './server-process.ts'

const limit = 300

let fleet: Fleet
before(async () => {
  fleet = await startFleet({ env: { RATE_LIMIT_MID: String(limit) } })
})
after(() => fleet?.close())

const cacheOf = (answer: Answer) => answer.headers['x-cache']
const both = () => [fleet.one, fleet.two] as const

const outages: readonly (readonly [string, () => unknown, () => unknown])[] = [
  ['killed and started', () => fleet.redis.kill(), () => fleet.redis.start()],
  ['hung and woken', () => fleet.redis.hang(), () => fleet.redis.wake()],
]
for (const [name, lose, recover] of outages) {
  test(`Redis ${name} under load: no 5xx, BYPASS while it is unavailable, HIT again afterwards`, async () => {
    const user = await fleet.createLinked()
    const asks = both().flatMap((server) => [
      () => server.get('/v1/accounts', user.key),
      () => server.get('/v1/connections', user.key),
      () => server.get(user.transactions(), user.key),
    ])
    const load = startLoad(asks)
    const of = (from: number, to = Number.POSITIVE_INFINITY) =>
      load.samples.filter(({ startedAt, endedAt }) => startedAt >= from && endedAt < to)
    await until('it is warm', () => load.samples.length > 100)
    await lose()
    // A process that notices by silence needs a quarter of a second.
    await sleep(1000)
    const awayFrom = performance.now()
    await until('a hundred answers meanwhile', () => of(awayFrom).length > 100)
    const awayUntil = performance.now()
    await recover()
    await until('both use it again', async () =>
      (await Promise.all(both().map((server) => isCached(server, user)))).every(Boolean),
    )
    const sharedAt = performance.now()
    await until('a hundred answers afterwards', () => of(sharedAt).length > 100)
    const samples = await load.stop()

    const seen = Object.keys(tally(samples)).sort()
    assert.deepEqual(seen, ['200 BYPASS', '200 HIT', '200 MISS'])
    assert.deepEqual(Object.keys(tally(of(awayFrom, awayUntil))), ['200 BYPASS'])
    const later = tally(of(sharedAt))
    assert.ok((later['200 HIT'] ?? 0) > (later['200 BYPASS'] ?? 0), JSON.stringify(later))
    assert.ok(longest(samples) < 10_000, `${longest(samples)} ms`)
    for (const server of both()) assert.equal(await server.isReady(), true)
  })
}

async function isCached(server: ServerProcess, user: FleetUser): Promise<boolean> {
  return cacheOf(await server.get('/v1/categories', user.key)) === 'HIT'
}

const longest = (samples: readonly Sample[]) =>
  Math.max(...samples.map(({ startedAt, endedAt }) => endedAt - startedAt))

test('R6: while Redis is unavailable each process enforces the limits alone, from the last count it knew', async () => {
  const user = await fleet.createLinked()
  const path = `/v1/balances?accountIds=${user.accountId}`
  for (let count = 0; count < 20; count += 1) await fleet.one.get(path, user.key)
  await fleet.redis.kill()
  const statusesOf = async (server: ServerProcess) => {
    await until('the loss is noticed', async () => cacheOf(await askCheap(server)) === 'BYPASS')
    const statuses: number[] = []
    for (let round = 0; round < (limit + 30) / 10; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => server.get(path, user.key)),
      )
      statuses.push(...answers.map(({ status }) => status))
    }
    return statuses
  }
  const askCheap = (server: ServerProcess) => server.get('/v1/connections', user.key)
  for (const [server, known] of [
    [fleet.one, 20],
    [fleet.two, 0],
  ] as const) {
    const statuses = await statusesOf(server)
    assert.equal(statuses.filter((status) => status === 200).length, limit - known)
    assert.equal(statuses.filter((status) => status === 429).length, 30 + known)
  }
  await fleet.redis.start()
})

test('leases and breaker failures are counted per process while Redis is unavailable', async () => {
  const user = await fleet.createLinked()
  await fleet.redis.kill()
  const { fiskil } = fleet.sandbox
  const when = ({ path }: { readonly path: string }) => path === '/v1/banking/transactions'
  const reads = () => fiskil.requests.filter(when).length
  let queries = 0
  const ask = () => {
    queries += 1
    return fleet.one.get(user.transactions(`&from=2026-01-01T00:00:0${queries}Z`), user.key)
  }
  fiskil.addFault({ when, times: 4, does: { kind: 'delay', ms: 1000 } })
  const asked = reads()
  const four = [ask(), ask(), ask(), ask()]
  await until('four are at the provider', () => reads() === asked + 4)
  assert.equal((await ask()).status, 429)
  for (const answer of await Promise.all(four)) assert.equal(answer.status, 200)

  fiskil.addFault({ when, does: { kind: 'reply', reply: { status: 500 } } })
  for (const _ of [1, 2, 3]) assert.equal((await ask()).body.error.code, undefined)
  assert.equal((await ask()).body.error.code, 'upstream_breaker_open')
  fiskil.clearFaults()
  await fleet.redis.start()
})

test('places whose requests ended during a stall of Redis are free within moments of its end', async () => {
  const user = await fleet.createLinked()
  const { fiskil } = fleet.sandbox
  const when = ({ path }: { readonly path: string }) => path === '/v1/banking/transactions'
  const reads = () => fiskil.requests.filter(when).length
  let queries = 0
  const ask = (server: ServerProcess) => {
    queries += 1
    return server.get(user.transactions(`&from=2026-02-01T00:00:0${queries}Z`), user.key)
  }
  await until('Redis is in use', () => isCached(fleet.one, user))
  fiskil.addFault({ when, times: 4, does: { kind: 'delay', ms: 700 } })
  const asked = reads()
  const four = [1, 2, 3, 4].map(() => ask(fleet.one))
  await until('four are at the provider', () => reads() === asked + 4)
  fleet.redis.hang()
  for (const answer of await Promise.all(four)) assert.equal(answer.status, 200)
  await sleep(1000)
  fleet.redis.wake()
  const wokenAt = performance.now()
  for (const server of both()) {
    await until('Redis is in use', () => isCached(server, user))
  }
  // All four at once on the other process: none of the places is taken any more.
  const again = await Promise.all([1, 2, 3, 4].map(() => ask(fleet.two)))
  assert.deepEqual(
    again.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  assert.ok(performance.now() - wokenAt < 8000, 'before the leases would have ended')
})

test('readyz names what is unavailable and stays ready', async () => {
  const words = async () => {
    const { status, body } = await fleet.one.askReadiness()
    return `${status} ${body.checks.store} ${body.checks.kv}`
  }
  await until('Redis is in use', async () => (await words()) === '200 ok ok')
  await fleet.redis.kill()
  await until('its loss is told', async () => (await words()) === '200 ok away')
  await fleet.redis.start()
  await until('its return is told', async () => (await words()) === '200 ok ok')
})

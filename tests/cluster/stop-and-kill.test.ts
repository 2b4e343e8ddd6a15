/**
 * How a process ends (docs/operations/scale.md, Stopping): after SIGTERM it drains, after SIGKILL it leaves
 * nothing behind for long.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openRedisKv } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'
import { type Fleet, type LinkedUser, startFleet, until } from './fleet.ts'
import { startLoad } from './load.ts'

let fleet: Fleet
let user: LinkedUser
before(async () => {
  fleet = await startFleet({
    env: { LOG_LEVEL: 'debug', UPSTREAM_TIMEOUT_MS: '50000', CONCURRENCY_HEAVY: '6' },
  })
  user = await fleet.createLinked()
})
after(() => fleet?.close())

const isRead = ({ path }: { readonly path: string }) => path === '/v1/banking/transactions'
const countReads = () => fleet.sandbox.fiskil.requests.filter(isRead).length

let queries = 0
/** A query that was not made before. */
function nextQuery(): string {
  queries += 1
  return user.transactions(`&from=2026-01-01T00:00:00.${String(queries).padStart(6, '0')}Z`)
}

const idOf = (headers: Readonly<Record<string, unknown>>) => String(headers['x-request-id'])

test('a process that is stopped under load answers the requests it accepted, refuses others and exits with 0', async () => {
  const server = await fleet.start()
  fleet.sandbox.fiskil.addFault({ when: isRead, does: { kind: 'delay', ms: 800 } })
  const quick = Array.from({ length: 6 }, () => () => server.get('/v1/accounts', user.key))
  const slow = Array.from({ length: 4 }, () => () => server.get(nextQuery(), user.key))
  const asked = countReads()
  const load = startLoad([...quick, ...slow])
  await until('slow ones are under way', () => countReads() >= asked + 4)
  const toldAt = performance.now()
  assert.equal(await server.stop('SIGTERM'), 0)
  const tookMs = performance.now() - toldAt
  const samples = await load.stop()
  fleet.sandbox.fiskil.clearFaults()

  assert.ok(tookMs < 10_000, `${tookMs} ms`)
  const answers = samples.flatMap(({ answer }) => (answer === null ? [] : [answer]))
  for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  const answered = new Set(answers.map((answer) => idOf(answer.headers)))
  const lines = server.output.filter((line) => line.includes('"msg":"request"'))
  const takenUp = lines.map((line): { requestId: string; status: number } => JSON.parse(line))
  assert.ok(takenUp.length > 10, String(takenUp.length))
  const cut = takenUp.filter(({ requestId }) => !answered.has(requestId))
  assert.deepEqual(cut, [], 'taken up, and never answered')
  const late = samples.filter(({ startedAt, answer }) => startedAt < toldAt && answer !== null)
  assert.ok(
    late.some(({ endedAt }) => endedAt > toldAt + 50),
    'some were in flight at the signal',
  )
  assert.equal((await fleet.two.get('/v1/accounts', user.key)).status, 200)
})

test('a stopping process ends remaining requests after 25 seconds and releases its leases', async () => {
  const server = await fleet.start()
  fleet.sandbox.fiskil.addFault({ when: isRead, does: { kind: 'hang' } })
  const asked = countReads()
  const hanging = Array.from({ length: 6 }, () =>
    server.get(nextQuery(), user.key).catch((error: unknown) => error),
  )
  await until('they hang at the provider', () => countReads() === asked + 6)
  const aborted = fleet.sandbox.fiskil.aborted.length
  const toldAt = performance.now()
  assert.equal(await server.stop('SIGTERM'), 0)
  const tookMs = performance.now() - toldAt
  assert.ok(tookMs > 24_000 && tookMs < 30_000, `${tookMs} ms`)
  await Promise.all(hanging)
  await until('the provider calls ended', () => {
    return fleet.sandbox.fiskil.aborted.length === aborted + 6
  })
  fleet.sandbox.fiskil.clearFaults()
  const next = await fleet.two.get(nextQuery(), user.key)
  assert.equal(next.status, 200, next.text)
})

test('the leases of a killed process expire within ten seconds', async () => {
  const server = await fleet.start()
  fleet.sandbox.fiskil.addFault({ when: isRead, does: { kind: 'hang' } })
  const asked = countReads()
  const hanging = Array.from({ length: 6 }, () =>
    server.get(nextQuery(), user.key).catch((error: unknown) => error),
  )
  await until('all six places are taken', () => countReads() === asked + 6)
  assert.equal(await server.stop('SIGKILL'), null)
  const killedAt = performance.now()
  await Promise.all(hanging)
  fleet.sandbox.fiskil.clearFaults()
  const refused = await fleet.two.get(nextQuery(), user.key)
  assert.equal(refused.status, 429, 'they are counted until they expire')

  const [key, others] = await findLeases()
  assert.deepEqual(others, [])
  assert.equal(await fleet.redis.call('ZCARD', key), 6)
  const lifeMs = Number(await fleet.redis.call('PTTL', key))
  assert.ok(lifeMs > 0 && lifeMs <= 10_000, `${lifeMs} ms`)
  const latest = String(Date.now() + 10_000)
  assert.equal(await fleet.redis.call('ZCOUNT', key, '-inf', latest), 6, 'over within ten seconds')
  assert.equal((await fleet.two.get('/v1/accounts', user.key)).status, 200, 'others need no place')
  await until(
    'they are over',
    async () => (await fleet.two.get(nextQuery(), user.key)).status === 200,
  )
  const freeAfterMs = performance.now() - killedAt
  assert.ok(freeAfterMs < 15_000, `${freeAfterMs} ms`)
})

/** The keys of places in flight: the first and the rest. */
async function findLeases(): Promise<[string, string[]]> {
  const [first = '', ...rest] = (await fleet.redis.call('KEYS', 'tributary:lease:*')) as string[]
  return [first, rest]
}

test('places of a killed process are free again when their leases are over, not before and not later', async (t) => {
  const leaseMs = 1500
  const secret = randomBytes(32)
  const entry = fileURLToPath(new URL('./place-holder.ts', import.meta.url))
  const words = [fleet.redis.url, String(leaseMs), secret.toString('base64'), 'k', '4']
  const holder = spawn(process.execPath, [entry, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kv = await openRedisKv({
    url: fleet.redis.url,
    clock: systemClock,
    secret,
    maxEntryBytes: 1024,
    report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
    leaseTiming: { leaseMs, renewEveryMs: leaseMs / 3 },
  })
  t.after(() => kv.close())
  await once(holder.stdout, 'data')
  // Longer than a lease: it is held because it is renewed.
  await new Promise((resolve) => setTimeout(resolve, leaseMs * 1.5))
  assert.equal((await kv.leases.acquire('k', 4)).lease, null)
  const exited = once(holder, 'exit')
  holder.kill('SIGKILL')
  await exited
  const killedAt = performance.now()
  assert.equal((await kv.leases.acquire('k', 4)).lease, null)
  await until('a place is free', async () => (await kv.leases.acquire('k', 4)).lease !== null)
  const tookMs = performance.now() - killedAt
  assert.ok(tookMs < leaseMs + 500, `${tookMs} ms`)
})

/**
 * One to sixteen simulated processes over one Redis and one PostgreSQL, cached answers and misses with the
 * delay of a provider: CPU of each part per request, round trips, p99, and from these which part is the first
 * to be full.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { type Child, startChild } from '../child.ts'
import type { Figure } from '../figures.ts'
import { makeBareDatabase } from '../ground.ts'
import { load, measureLoad, percentile } from '../load.ts'
import { controlPath } from '../recorder.ts'
import type { ProviderFacts } from '../service.ts'
import type { ProcessesFacts } from './processes.ts'
import { type Servers, startServers } from './servers.ts'

const counts = [1, 2, 4, 8, 16]
const users = 16
const connections = 32
/**
 * Milliseconds until a provider sends a page, in turn: a mean of 197, a median of 150, one in twenty about
 * 700. An assumption about their shape, since none of the providers says how long it takes.
 */
const providerDelaysMs = [
  150, 90, 210, 130, 310, 110, 170, 140, 240, 100, 160, 700, 120, 190, 80, 150, 280, 130, 360, 120,
]
const warmUpMs = 1000
const measuredMs = 4000
const lonelyMs = 2000
const restMs = 5000

interface Cost {
  readonly rate: number
  readonly p99: number
  /** Microseconds of CPU for one request. */
  readonly processMicros: number
  readonly redisMicros: number
  readonly postgresMicros: number
  /** Of one request, with no other in flight, without what the processes do at rest. */
  readonly redisTrips: number
  readonly postgresTrips: number
}

/** What the processes do without any request, in a second. */
interface Rest {
  readonly redisTrips: number
  readonly postgresTrips: number
}

/** Nothing where no PostgreSQL is named. */
export async function measureScale(): Promise<Figure[]> {
  const server = process.env.TEST_DATABASE_URL ?? ''
  if (server === '') {
    console.log('not measured: several processes need TEST_DATABASE_URL')
    return []
  }
  const provider = await startChild<ProviderFacts>('./provider.ts', { args: ['healthy'], core: 1 })
  await request(
    `${provider.facts.access.fiskil?.baseUrl}${controlPath}?delayMs=${providerDelaysMs}`,
  )
  const figures: Figure[] = []
  for (const count of counts) figures.push(...(await measureCount(count, server, provider.facts)))
  await provider.stop()
  return figures
}

async function measureCount(
  count: number,
  server: string,
  { access, people }: ProviderFacts,
): Promise<Figure[]> {
  const database = await makeBareDatabase(server)
  const servers = await startServers(database.url)
  const child = await startChild<ProcessesFacts>('./fleet/processes.ts', {
    args: [
      JSON.stringify({
        count,
        users,
        databaseUrl: database.url,
        redisUrl: servers.redisUrl,
        access,
        people: people.filter((one) => one.provider === 'fiskil'),
      }),
    ],
    isService: true,
  })
  try {
    const rest = await measureRest({ child, servers })
    const stage = { child, servers, rest }
    const bareMicros = await measureBare(child.facts)
    const hit = await measureKind(stage, (path) => path)
    let fresh = 0
    const miss = await measureKind(stage, (path) => () => {
      fresh += 1
      return `${path}&from=${new Date(Date.UTC(2026, 0, 1) + fresh).toISOString()}`
    })
    return [
      toFigure(count, 'cached', hit, bareMicros),
      toFigure(count, 'uncached', miss, bareMicros),
      toRestFigure(count, rest),
    ]
  } finally {
    await child.stop()
    await servers.close()
    await database.remove()
  }
}

interface Stage {
  readonly child: Child<ProcessesFacts>
  readonly servers: Servers
  readonly rest: Rest
}

async function measureRest(stage: Pick<Stage, 'child' | 'servers'>): Promise<Rest> {
  const [before, startedAt] = [await readTrips(stage), performance.now()]
  await sleep(restMs)
  const after = await readTrips(stage)
  const seconds = (performance.now() - startedAt) / 1000
  return {
    redisTrips: (after.redisTrips - before.redisTrips) / seconds,
    postgresTrips: (after.postgresTrips - before.postgresTrips) / seconds,
  }
}

async function readTrips({ child, servers }: Pick<Stage, 'child' | 'servers'>): Promise<Rest> {
  const answer = await request(`http://127.0.0.1:${child.facts.countPort}/`)
  const postgresTrips = Number(await answer.body.text())
  return { redisTrips: (await servers.read()).redisReads, postgresTrips }
}

/**
 * CPU of `node:http` for an answer of as many bytes, in the same minute: the measure of the machine's other
 * load.
 */
async function measureBare({ ports, users: people }: ProcessesFacts): Promise<number> {
  const [user] = people
  const path = `/v1/transactions?connectionId=${user?.connectionId}&accountId=${user?.accountId}`
  const authorization = `Bearer ${user?.key}`
  const answer = await request(`http://127.0.0.1:${ports[0]}${path}`, {
    headers: { authorization },
  })
  const { length } = Buffer.from(await answer.body.arrayBuffer())
  const headers = Object.entries(answer.headers).flatMap(([name, value]) => [name, String(value)])
  const child = await startChild<{ readonly port: number }>('./hit-bare.ts', {
    args: [JSON.stringify([{ path, headers, length }])],
    isService: true,
  })
  const options = { port: child.facts.port, path, connections }
  await load({ ...options, durationMs: warmUpMs })
  const { cpuMicros } = await measureLoad(child, { ...options, durationMs: warmUpMs })
  await child.stop()
  return cpuMicros ?? Number.NaN
}

type ToPath = (path: string) => string | (() => string)

async function measureKind(stage: Stage, toPath: ToPath): Promise<Cost> {
  const { child, servers, rest } = stage
  await loadAll(stage, toPath, connections, warmUpMs)
  const [server, used] = [await servers.read(), await child.usage()]
  const { requests, rate, p99 } = await loadAll(stage, toPath, connections, measuredMs)
  const usage = await child.usage()
  const after = await servers.read()
  const [before, startedAt] = [await readTrips(stage), performance.now()]
  const alone = await loadAll(stage, toPath, 1, lonelyMs)
  const last = await readTrips(stage)
  const seconds = (performance.now() - startedAt) / 1000
  const perRequest = (difference: number, atRest: number) =>
    Math.max(0, difference - atRest * seconds) / alone.requests
  return {
    rate,
    p99,
    processMicros: (usage.cpuMicros - used.cpuMicros) / requests,
    redisMicros: (after.redisCpuMicros - server.redisCpuMicros) / requests,
    postgresMicros: (after.postgresCpuMicros - server.postgresCpuMicros) / requests,
    redisTrips: perRequest(last.redisTrips - before.redisTrips, rest.redisTrips),
    postgresTrips: perRequest(last.postgresTrips - before.postgresTrips, rest.postgresTrips),
  }
}

/** Connections spread over the processes and the users. */
async function loadAll({ child }: Stage, toPath: ToPath, count: number, durationMs: number) {
  const { ports, users: people } = child.facts
  const results = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const user = people[index % people.length]
      const path = `/v1/transactions?connectionId=${user?.connectionId}&accountId=${user?.accountId}`
      return load({
        port: ports[index % ports.length] ?? 0,
        path: toPath(path),
        headers: { authorization: `Bearer ${user?.key}` },
        connections: 1,
        durationMs,
      })
    }),
  )
  const failures = results.reduce((sum, one) => sum + one.failures, 0)
  if (failures > 0) throw new Error(`${failures} answers were not 200`)
  const latencies = Float64Array.from(results.flatMap((one) => [...one.latencies])).sort()
  const requests = latencies.length
  return { requests, rate: (requests / durationMs) * 1000, p99: percentile(latencies, 0.99) }
}

function toFigure(count: number, kind: string, cost: Cost, bareMicros: number): Figure {
  const micros = (value: number) => value.toFixed(0)
  const { processMicros, redisMicros, postgresMicros, redisTrips, postgresTrips } = cost
  return {
    bench: 'scale',
    what: `${nameOf(count)}, ${kind}: CPU of the process, Redis and PostgreSQL; trips to each; rate and p99`,
    figure: `${micros(processMicros)} + ${micros(redisMicros)} + ${micros(postgresMicros)} µs; ${redisTrips.toFixed(1)}, ${postgresTrips.toFixed(1)}; ${cost.rate.toFixed(0)}/s, ${cost.p99.toFixed(0)} ms`,
    anchor: `${micros(bareMicros)} µs bare node:http`,
    ratio: `${(processMicros / bareMicros).toFixed(0)}; one Redis for ${(processMicros / redisMicros).toFixed(0)} cores`,
    goal: '',
    met: null,
  }
}

function toRestFigure(count: number, { redisTrips, postgresTrips }: Rest): Figure {
  return {
    bench: 'scale',
    what: `${nameOf(count)}, at rest: trips to Redis and to PostgreSQL in a second`,
    figure: `${redisTrips.toFixed(1)}, ${postgresTrips.toFixed(1)}`,
    anchor: '',
    ratio: '',
    goal: '',
    met: null,
  }
}

const nameOf = (count: number) => (count === 1 ? '1 process' : `${count} processes`)

/**
 * Cached GETs of 1 KB and 32 KB with fast state in Redis, and with the store in PostgreSQL too, against the
 * embedded service and bare node:http in the same run; and the CPU time of two processes that share both,
 * against one, and of two bare servers against one. Needs TEST_REDIS_URL and TEST_DATABASE_URL.
 */
import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { makePostgresGround } from './ground.ts'
import { fetchAnswer, type TributaryFacts, warmUp } from './hit.ts'
import { type LoadOptions, measureLoad } from './load.ts'
import { measureMachine } from './machine.ts'
import { type Sample, type Turns, takeTurns } from './turns.ts'

const rounds = 9
const durationMs = 500
const connections = 32
const goal = 2
const goalOfTwo = 1.8

type Service = Child<TributaryFacts>
/**
 * `second` and `bareSecond` have the core of the load generator; `two` and `bareTwo` are both of a kind at
 * once.
 */
type Name = 'bare' | 'bareSecond' | 'bareTwo' | 'embedded' | 'redis' | 'both' | 'second' | 'two'

interface Target extends LoadOptions {
  readonly name: string
  readonly core: 0 | 1
  readonly child: Child<unknown>
}

const titles: Readonly<Record<'redis' | 'both', string>> = {
  redis: 'Redis',
  both: 'Redis and PostgreSQL',
}

export async function measureSharedHits(): Promise<Figure[]> {
  const { TEST_REDIS_URL: redisUrl = '', TEST_DATABASE_URL: databaseUrl = '' } = process.env
  if (redisUrl === '' || databaseUrl === '') {
    console.log('hit-shared is not measured: TEST_REDIS_URL and TEST_DATABASE_URL are not set')
    return []
  }
  const ground = await makePostgresGround(databaseUrl)
  const provider = await startChild<object>('./hit-provider.ts', { core: 1 })
  const started: Child<unknown>[] = [provider]
  const client = new Redis(redisUrl)
  async function start(environment: object, known: object = {}, core: 0 | 1 = 0): Promise<Service> {
    const args = [JSON.stringify({ ...provider.facts, environment, ...known })]
    const options = { args, isService: true, core }
    const child = await startChild<TributaryFacts>('./hit-tributary.ts', options)
    started.push(child)
    return child
  }
  try {
    const shared = {
      REDIS_URL: redisUrl,
      DATABASE_URL: ground.place.databaseUrl,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    }
    const embedded = await start({})
    const redis = await start({ REDIS_URL: redisUrl })
    const both = await start(shared)
    const { key, userId } = both.facts
    // On the core that the other does not have, with the load generator.
    const second = await start(shared, { known: { key, userId } }, 1)
    const figures: Figure[] = []
    for (const size of ['small', 'large'] as const) {
      const services = { embedded, redis, both, second }
      figures.push(...(await measureSize(size, services, { started, client })))
    }
    return figures
  } finally {
    client.disconnect()
    await Promise.all(started.map((child) => child.stop()))
    await ground.remove()
  }
}

interface Scene {
  /** What must be stopped at the end. */
  readonly started: Child<unknown>[]
  /** A client of the Redis that the services share. */
  readonly client: Redis
}

async function measureSize(
  size: 'small' | 'large',
  services: Readonly<Record<'embedded' | 'redis' | 'both' | 'second', Service>>,
  { started, client }: Scene,
): Promise<Figure[]> {
  const targets = Object.entries(services).map(([name, child]): Target => {
    const { port, key } = child.facts
    const headers = { authorization: `Bearer ${key}` }
    const core = name === 'second' ? 1 : 0
    return { name, core, child, port, path: child.facts[size], headers, connections, durationMs }
  })
  const [first] = targets
  if (first === undefined) return []
  const path = services.embedded.facts[size]
  const answer = await fetchAnswer(first.port, path, first.headers ?? {})
  for (const [name, core] of [
    ['bare', 0],
    ['bareSecond', 1],
  ] as const) {
    const options = { args: [JSON.stringify([answer])], core }
    const child = await startChild<{ port: number }>('./hit-bare.ts', options)
    started.push(child)
    targets.push({ ...first, name, core, child, port: child.facts.port })
  }
  const candidates: Record<string, () => Promise<Sample>> = {}
  for (const target of targets) {
    await warmUp(target)
    candidates[target.name] = () => measureOne(target)
  }
  const pairOf = (...names: Name[]) =>
    targets.filter(({ name }) => names.some((one) => one === name))
  candidates.bareTwo = () => measureAtOnce(pairOf('bare', 'bareSecond'), client)
  candidates.two = () => measureAtOnce(pairOf('both', 'second'), client)
  const turns = await takeTurns(candidates as Record<Name, () => Promise<Sample>>, rounds)
  return toFigures(turns, `${answer.length} bytes, ${connections} conn.`)
}

/** CPU of an answer, also by the name of its core, so that each of two is compared with itself alone. */
async function measureOne(target: Target): Promise<Sample> {
  const sample = await measureLoad(target.child, target)
  return { ...sample, [`core${target.core}`]: sample.cpuMicros ?? Number.NaN }
}

/**
 * CPU of an answer of both, and what an answer takes of the time of all cores: theirs, Redis, the load
 * generator, nobody.
 */
async function measureAtOnce(pair: readonly Target[], client: Redis): Promise<Sample> {
  const {
    result: samples,
    cores,
    self,
    redis,
  } = await measureMachine(client, () => Promise.all(pair.map(measureOne)))
  const rate = samples.reduce((sum, sample) => sum + (sample.rate ?? 0), 0)
  const cpu = samples.reduce((sum, { cpuMicros = 0, rate: own = 0 }) => sum + cpuMicros * own, 0)
  const answers = samples.reduce((sum, { requests = 0 }) => sum + requests, 0)
  return {
    ...samples[0],
    ...samples[1],
    rate,
    cpuMicros: cpu / rate,
    redis: redis / answers,
    load: self / answers,
    idle: cores.idle / answers,
    all: cores.all / answers,
  }
}

function toFigures(turns: Turns<Name>, what: string): Figure[] {
  const cpu = (name: Name) => {
    const [low, high] = turns.quartiles(name, 'cpuMicros')
    const middle = turns.median(name, 'cpuMicros').toFixed(1)
    return `${middle} µs (${low.toFixed(1)} to ${high.toFixed(1)})`
  }
  const shared = (['redis', 'both'] as const).map((name): Figure => {
    const ratio = turns.ratio(name, 'embedded', 'cpuMicros')
    const overBare = turns.ratio(name, 'bare', 'cpuMicros')
    return {
      bench: 'hit-shared',
      what: `CPU of a cached GET, ${titles[name]}, ${what}`,
      figure: cpu(name),
      anchor: `${cpu('embedded')} embedded; ${cpu('bare')} bare node:http`,
      ratio: `${ratio.toFixed(2)}; ${overBare.toFixed(2)} of bare`,
      goal: `≤ ${goal}`,
      met: ratio <= goal,
    }
  })
  // What two answer on two cores of their own when CPU time is what limits them: each is compared with itself
  // alone, since an answer costs more on the core of the load generator. Two bare servers show what this
  // machine allows.
  const gainOf = (two: Name, first: Name, second: Name) =>
    turns.ratio(first, two, 'core0') + turns.ratio(second, two, 'core1')
  const gain = gainOf('two', 'both', 'second')
  const ofBare = gainOf('bareTwo', 'bare', 'bareSecond')
  const micros = (figure: string) => turns.median('two', figure).toFixed(1)
  const title = `two processes at once, ${titles.both}, ${what}`
  const two: Figure = {
    bench: 'hit-shared',
    what: `CPU of a cached GET, ${title}`,
    figure: `${micros('core0')} and ${micros('core1')} µs`,
    anchor: `${cpu('both')} and ${cpu('second')}, each alone`,
    ratio: `${gain.toFixed(2)} × the answers on two cores, by CPU; two bare node:http ${ofBare.toFixed(2)} ×`,
    goal: `≥ ${goalOfTwo}`,
    met: gain >= goalOfTwo,
  }
  const machine: Figure = {
    bench: 'hit-shared',
    what: `time of all cores for an answer, ${title}`,
    figure: `${micros('cpuMicros')} µs of its process, ${micros('redis')} of Redis, ${micros('load')} of the load generator, ${micros('idle')} idle`,
    anchor: `${micros('all')} µs of all cores`,
    ratio: '',
    goal: '',
    met: null,
  }
  return [...shared, two, machine]
}

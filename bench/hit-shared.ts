/**
 * Cached GETs of 1 KB and 32 KB with fast state in Redis, and with the store in PostgreSQL too, against the embedded
 * service and bare node:http in the same run; and the CPU time of two processes that share both, against one. Needs
 * TEST_REDIS_URL and TEST_DATABASE_URL.
 */
import { randomBytes } from 'node:crypto'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { makePostgresGround } from './ground.ts'
import { fetchAnswer, type TributaryFacts, warmUpMs } from './hit.ts'
import { load, measureLoad } from './load.ts'
import { type Sample, type Turns, takeTurns } from './turns.ts'

const rounds = 9
const durationMs = 1000
const connections = 32
const goal = 2
const goalOfTwo = 1.8

type Service = Child<TributaryFacts>
type Name = 'bare' | 'embedded' | 'redis' | 'both' | 'second' | 'two'

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
      figures.push(...(await measureSize(size, { embedded, redis, both, second }, started)))
    }
    return figures
  } finally {
    await Promise.all(started.map((child) => child.stop()))
    await ground.remove()
  }
}

async function measureSize(
  size: 'small' | 'large',
  services: Readonly<Record<Exclude<Name, 'bare' | 'two'>, Service>>,
  started: Child<unknown>[],
): Promise<Figure[]> {
  const targets = Object.entries(services).map(([name, child]) => {
    const { port, key } = child.facts
    return {
      name,
      child,
      port,
      path: child.facts[size],
      headers: { authorization: `Bearer ${key}` },
    }
  })
  const [first] = targets
  if (first === undefined) return []
  const answer = await fetchAnswer(first.port, first.path, first.headers)
  const bare = await startChild<{ port: number }>('./hit-bare.ts', {
    args: [JSON.stringify([answer])],
  })
  started.push(bare)
  const all = [{ ...first, name: 'bare', child: bare, port: bare.facts.port }, ...targets]
  const candidates: Record<string, () => Promise<Sample>> = {}
  for (const { name, child, port, path, headers } of all) {
    const options = { port, path, headers, connections, durationMs }
    await load({ ...options, durationMs: warmUpMs })
    candidates[name] = () => measureLoad(child, options)
  }
  const pair = targets.filter(({ name }) => name === 'both' || name === 'second')
  candidates.two = async () => {
    const each = { connections, durationMs }
    const samples = await Promise.all(
      pair.map(({ child, port, path, headers }) =>
        measureLoad(child, { port, path, headers, ...each }),
      ),
    )
    const rate = samples.reduce((sum, sample) => sum + (sample.rate ?? 0), 0)
    const cpu = samples.reduce(
      (sum, sample) => sum + (sample.cpuMicros ?? 0) * (sample.rate ?? 0),
      0,
    )
    return { rate, cpuMicros: cpu / rate }
  }
  const turns = await takeTurns(candidates as Record<Name, () => Promise<Sample>>, rounds)
  return toFigures(turns, `${answer.length} bytes, ${connections} conn.`)
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
  // What two processes answer on two cores of their own, when CPU time is what limits them: each is compared with itself
  // alone, since an answer costs more on the core of the load generator.
  const gain = turns.ratio('both', 'two', 'cpuMicros') + turns.ratio('second', 'two', 'cpuMicros')
  const two: Figure = {
    bench: 'hit-shared',
    what: `CPU of a cached GET, two processes at once, ${titles.both}, ${what}`,
    figure: cpu('two'),
    anchor: `${cpu('both')} and ${cpu('second')}, each alone`,
    ratio: `${gain.toFixed(2)} × the answers on two cores, by CPU`,
    goal: `≥ ${goalOfTwo}`,
    met: gain >= goalOfTwo,
  }
  return [...shared, two]
}

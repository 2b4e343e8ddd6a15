/**
 * Cached GETs of 1 KB and 30 KB, all work included (key, limits, cache, headers), against bare node:http
 * writing the same bytes on the same core.
 */
import { request as httpRequest } from 'node:http'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { type LoadOptions, load, measureLoad } from './load.ts'
import { type Turns, takeTurns } from './turns.ts'
import { hasWrk, measureByWrk } from './wrk.ts'

const rounds = 11
const durationMs = 1000
/**
 * Enough to compile both: the service has more to compile than the anchor, and a busy machine takes long for
 * them.
 */
const warmUpRequests = 60_000
const goal = 0.9

export interface TributaryFacts {
  readonly port: number
  readonly key: string
  /** It sees the account of the paths alone. */
  readonly narrowKey: string
  readonly userId: string
  /** Paths whose answers are of about 1 KB and 30 KB. */
  readonly small: string
  readonly large: string
}

/** The service, and the emulators in a process of their own. */
export async function startTributary(): Promise<Child<TributaryFacts>> {
  const provider = await startChild<unknown>('./hit-provider.ts', { core: 1 })
  const service = await startChild<TributaryFacts>('./hit-tributary.ts', {
    args: [JSON.stringify(provider.facts)],
    isService: true,
  })
  return {
    ...service,
    stop: async () => {
      await service.stop()
      await provider.stop()
    },
  }
}

/** Both sizes, over one and over 32 connections. */
export async function measureHits(): Promise<Figure[]> {
  const tributary = await startTributary()
  const { port, key, small, large } = tributary.facts
  const headers = { authorization: `Bearer ${key}` }
  const answers = [await fetchAnswer(port, small, headers), await fetchAnswer(port, large, headers)]
  const bare = await startChild<{ port: number }>('./hit-bare.ts', {
    args: [JSON.stringify(answers)],
  })
  const figures: Figure[] = []
  for (const { path, length } of answers) {
    for (const connections of [1, 32]) {
      const target = { path, headers, connections, durationMs }
      await warmUp({ ...target, port })
      await warmUp({ ...target, port: bare.facts.port })
      const turns = await takeTurns(
        {
          bare: () => measureLoad(bare, { ...target, port: bare.facts.port }),
          tributary: () => measureLoad(tributary, { ...target, port }),
        },
        rounds,
      )
      figures.push(...toFigures(turns, `${length} bytes, ${connections} conn.`))
    }
    const target = { path, headers, connections: 32, durationMs }
    figures.push(...(await measureOutside({ tributary, bare }, target, length)))
  }
  await Promise.all([tributary.stop(), bare.stop()])
  return figures
}

export async function warmUp(options: LoadOptions): Promise<void> {
  let requests = 0
  while (requests < warmUpRequests) requests += (await load(options)).requests
}

interface Measured {
  readonly tributary: Child<TributaryFacts>
  readonly bare: Child<{ readonly port: number }>
}

/** The same over 32 connections by `wrk`, where it is installed. */
async function measureOutside(
  { tributary, bare }: Measured,
  target: Omit<LoadOptions, 'port'> & { readonly path: string },
  length: number,
): Promise<Figure[]> {
  const name = `by wrk, ${length} bytes, ${target.connections} conn.`
  if (!hasWrk()) {
    console.log(`hit        ${name}: not measured, wrk is not installed`)
    return []
  }
  const turns = await takeTurns(
    {
      bare: () => measureByWrk(bare, { ...target, port: bare.facts.port }),
      tributary: () => measureByWrk(tributary, { ...target, port: tributary.facts.port }),
    },
    rounds,
  )
  return toCostFigures(turns, name)
}

function toFigures(turns: Turns<'bare' | 'tributary'>, name: string): Figure[] {
  const show = (who: 'bare' | 'tributary', figure: string, digits: number) =>
    turns.median(who, figure).toFixed(digits)
  const latency = (who: 'bare' | 'tributary') =>
    `${show(who, 'p50', 3)} / ${show(who, 'p99', 2)} ms`
  return [
    ...toCostFigures(turns, name),
    {
      bench: 'hit',
      what: `p50 / p99, ${name}`,
      figure: latency('tributary'),
      anchor: latency('bare'),
      ratio: '',
      goal: '',
      met: null,
    },
  ]
}

function toCostFigures(turns: Turns<'bare' | 'tributary'>, name: string): Figure[] {
  const cpu = turns.ratio('bare', 'tributary', 'cpuMicros')
  const rate = turns.ratio('tributary', 'bare', 'rate')
  const show = (who: 'bare' | 'tributary', figure: string, digits: number) =>
    turns.median(who, figure).toFixed(digits)
  return [
    {
      bench: 'hit',
      what: `CPU of a cached GET, ${name}`,
      figure: `${show('tributary', 'cpuMicros', 1)} µs`,
      anchor: `${show('bare', 'cpuMicros', 1)} µs bare node:http`,
      ratio: cpu.toFixed(2),
      goal: `≥ ${goal}`,
      met: cpu >= goal,
    },
    {
      bench: 'hit',
      what: `requests per second, ${name}`,
      figure: show('tributary', 'rate', 0),
      anchor: `${show('bare', 'rate', 0)} bare node:http`,
      ratio: rate.toFixed(2),
      goal: `≥ ${goal}`,
      met: rate >= goal,
    },
  ]
}

/** What node:http adds by itself. */
const added = new Set(['date', 'connection', 'keep-alive'])

/** One answer, so that others can write the same. */
export function fetchAnswer(port: number, path: string, headers: Readonly<Record<string, string>>) {
  return new Promise<{ path: string; headers: string[]; length: number }>((resolve, reject) => {
    const asked = httpRequest({ port, path, headers }, (response) => {
      let length = 0
      response.on('data', (chunk: Uint8Array) => {
        length += chunk.length
      })
      response.on('end', () => {
        const { rawHeaders } = response
        const own = rawHeaders.filter((_text, at) => {
          return !added.has(rawHeaders[at - (at % 2)]?.toLowerCase() ?? '')
        })
        resolve({ path, headers: own, length })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

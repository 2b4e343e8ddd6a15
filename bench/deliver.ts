/**
 * Deliveries to a local receiver, from the claim to the kept attempt, against a bare loop of undici that
 * posts the same signed bytes; and how long after its commit an event reaches the receiver.
 */
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import type { Delivered } from './deliver-service.ts'
import type { Figure } from './figures.ts'
import { type Ground, onGrounds } from './ground.ts'
import { percentile } from './load.ts'
import { takeTurns } from './turns.ts'

type Facts = { readonly port: number }

export interface DeliverSizes {
  readonly rounds: number
  readonly perRound: number
  /** Events whose way is timed. */
  readonly timed: number
}

/**
 * Of a process that has run for a while: in rounds of 320 the service is not compiled yet, the anchor half.
 */
const usual: DeliverSizes = { rounds: 5, perRound: 640, timed: 100 }
const warmUp = 3
const goal = 0.5
/** New transactions of an event: of about 1 KB and 30 KB. */
const kinds = [2, 60]

export async function measureDeliveries(sizes: DeliverSizes = usual): Promise<Figure[]> {
  const receiver = await startChild<Facts>('./deliver-receiver.ts', { core: 1 })
  const url = `http://127.0.0.1:${receiver.facts.port}/hook`
  const anchor = await startChild<Facts>('./deliver-anchor.ts', { args: [url] })
  try {
    return await onGrounds((ground) => measureOn(ground, { url, anchor, sizes }))
  } finally {
    await anchor.stop()
    await receiver.stop()
  }
}

interface Setting {
  readonly url: string
  readonly anchor: Child<Facts>
  readonly sizes: DeliverSizes
}

async function measureOn({ place, title }: Ground, { url, anchor, sizes }: Setting) {
  const service = await startChild<Facts>('./deliver-service.ts', {
    args: [url, JSON.stringify(place)],
    isService: true,
  })
  const figures: Figure[] = []
  try {
    for (const rows of kinds)
      figures.push(...(await measureRate(service, anchor, { title, rows, sizes })))
    const latencies = await measureLatencies(service, sizes)
    figures.push({
      bench: 'deliver',
      what: `p50 / p95 from the commit of an event to its first byte at the receiver, ${title}`,
      figure: `${percentile(latencies, 0.5).toFixed(1)} / ${percentile(latencies, 0.95).toFixed(1)} ms`,
      anchor: '',
      ratio: '',
      goal: '',
      met: null,
    })
  } finally {
    await service.stop()
  }
  return figures
}

interface Kind {
  readonly title: string
  readonly rows: number
  readonly sizes: DeliverSizes
}

async function measureRate(
  service: Child<Facts>,
  anchor: Child<Facts>,
  { title, rows, sizes }: Kind,
): Promise<Figure[]> {
  const count = sizes.perRound
  const run = (child: Child<Facts>) => async () => {
    const path = `/round?count=${count}&rows=${rows}`
    const { ms, cpuMs, stallMs, serverMs } = (await ask(child, path)) as Delivered
    const serverMicros = ((serverMs ?? 0) / count) * 1000
    return { rate: (count / ms) * 1000, cpuMicros: (cpuMs / count) * 1000, stallMs, serverMicros }
  }
  const turns = await takeTurns({ bare: run(anchor), ours: run(service) }, sizes.rounds, warmUp)
  const ratio = turns.ratio('ours', 'bare', 'rate')
  const show = (who: 'ours' | 'bare', figure: string) => turns.median(who, figure).toFixed(0)
  const name = `events of ${rows} rows, ${title}`
  return [
    {
      bench: 'deliver',
      what: `deliveries per second, ${name}`,
      figure: show('ours', 'rate'),
      anchor: `${show('bare', 'rate')} bare undici`,
      ratio: ratio.toFixed(2),
      goal: `≥ ${goal}`,
      met: ratio >= goal,
    },
    {
      bench: 'deliver',
      what: `CPU of a delivery, ${name}`,
      figure: `${show('ours', 'cpuMicros')} µs, ${show('ours', 'serverMicros')} µs of the database's server`,
      anchor: `${show('bare', 'cpuMicros')} µs bare undici`,
      ratio: turns.ratio('bare', 'ours', 'cpuMicros').toFixed(2),
      goal: '',
      met: null,
    },
    {
      bench: 'deliver',
      what: `longest event-loop stall meanwhile, ${name}`,
      figure: `${show('ours', 'stallMs')} ms`,
      anchor: `${show('bare', 'stallMs')} ms`,
      ratio: '',
      goal: '',
      met: null,
    },
  ]
}

async function measureLatencies(service: Child<Facts>, { timed }: DeliverSizes) {
  const values = (await ask(service, `/latency?count=${timed}&rows=${kinds[0]}`)) as number[]
  return Float64Array.from(values).sort()
}

async function ask({ facts }: Child<Facts>, path: string): Promise<unknown> {
  const answer = await request(`http://127.0.0.1:${facts.port}${path}`, { headersTimeout: 120_000 })
  return answer.body.json()
}

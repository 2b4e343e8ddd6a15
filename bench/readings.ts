/**
 * Uncached reads at the providers that give one reading for everything (SimpleFIN, Enable Banking): the
 * adapter's CPU against fetching, decoding and parsing the same answers. Most are made from what is kept; a
 * new reading is made 24 times a day at most, at Enable Banking four times.
 */
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import type { AnchorPages } from './miss-anchor.ts'
import type { AskedPages, ReadingsFacts } from './readings-provider.ts'
import { type Sample, takeTurns } from './turns.ts'

const rounds = 15
const warmUpRounds = 5
const perRound = 3
/** As for the other providers, of a person with one login of each. */
const goal = 1.6
const names = ['simplefin', 'enablebanking'] as const
type Name = (typeof names)[number]

type Listening = Child<{ readonly port: number }>

/** What one of them is compared with, and its rows. */
interface Anchor {
  readonly child: Listening
  readonly what: string
}

export async function measureReadings(): Promise<Figure[]> {
  const provider = await startChild<ReadingsFacts>('./readings-provider.ts', { core: 1 })
  const service: Listening = await startChild('./readings-process.ts', {
    args: [JSON.stringify(provider.facts)],
    isService: true,
  })
  const anchors = {
    simplefin: await startAnchor(provider, service, 'simplefin'),
    enablebanking: await startAnchor(provider, service, 'enablebanking'),
  }
  const turns = await takeTurns(
    {
      anchor: () => measureEach((name) => measureCpu(anchors[name].child, '/')),
      kept: () => measureEach((name) => measureCpu(service, `/${name}`)),
      anew: () => measureEach((name) => measureCpu(service, `/${name}/anew`)),
    },
    rounds,
    warmUpRounds,
  )
  for (const child of [...names.map((name) => anchors[name].child), service, provider]) {
    await child.stop()
  }
  const figure = (kind: 'kept' | 'anew', of: Name | 'both'): Figure => {
    const ratio = turns.ratio(kind, 'anchor', of)
    const [low, high] = turns.spread(kind, 'anchor', of)
    const reading = kind === 'kept' ? 'a kept reading' : 'a new reading'
    const hasGoal = kind === 'kept' && of === 'both'
    return {
      bench: 'readings',
      what: `CPU of all rows of ${reading}, ${of === 'both' ? 'one login of each' : anchors[of].what}`,
      figure: `${turns.median(kind, of).toFixed(1)} ms`,
      anchor: `${turns.median('anchor', of).toFixed(1)} ms fetch, decode, JSON.parse`,
      ratio: `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
      goal: hasGoal ? `≤ ${goal}` : '',
      met: hasGoal ? ratio <= goal : null,
    }
  }
  return (['kept', 'anew'] as const).flatMap((kind) =>
    (['both', ...names] as const).map((of) => figure(kind, of)),
  )
}

/** Reads everything once, to know the requests that it takes. */
async function startAnchor(
  provider: Child<ReadingsFacts>,
  service: Listening,
  name: Name,
): Promise<Anchor> {
  await takeAsked(provider)
  const rows = Number(await get(service, `/${name}/anew`))
  const pages = toAnchorPages(provider.facts, name, await takeAsked(provider))
  const child: Listening = await startChild('./miss-anchor.ts', { args: [JSON.stringify(pages)] })
  const answers = pages.paths.length
  return { child, what: `${name}: ${rows} rows in ${answers} answers, 500 of them made` }
}

async function measureEach(measure: (name: Name) => Promise<number>): Promise<Sample> {
  const [simplefin, enablebanking] = [await measure('simplefin'), await measure('enablebanking')]
  return { simplefin, enablebanking, both: simplefin + enablebanking }
}

async function get({ facts }: Child<{ readonly port: number }>, path: string): Promise<string> {
  return (await request(`http://127.0.0.1:${facts.port}${path}`)).body.text()
}

async function takeAsked(provider: Child<ReadingsFacts>): Promise<AskedPages> {
  return JSON.parse(await get(provider, '/')) as AskedPages
}

function toAnchorPages(facts: ReadingsFacts, name: Name, asked: AskedPages): AnchorPages {
  const pages = asked[name]
  const origin = new URL(name === 'simplefin' ? facts.simplefin.baseUrl : facts.enablebanking.url)
  return {
    origin: origin.origin,
    paths: pages.map(({ path }) => path),
    headers: pages[0]?.headers ?? {},
    list: name === 'simplefin' ? 'accounts' : 'transactions',
    isNumbered: false,
  }
}

/** Milliseconds of a request. */
async function measureCpu(child: Listening, path: string): Promise<number> {
  const before = await child.usage()
  for (let turn = 0; turn < perRound; turn += 1) await get(child, path)
  const after = await child.usage()
  return (after.cpuMicros - before.cpuMicros) / perRound / 1000
}

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
import { takeTurns } from './turns.ts'

const rounds = 15
const warmUpRounds = 5
const perRound = 3
/** The goal of an uncached answer of any provider. A new reading has none: nobody waits for its CPU. */
const kinds = [
  ['kept', 'all rows of a kept reading', 1.6],
  ['anew', 'a new reading', null],
] as const

type Listening = Child<{ readonly port: number }>

export async function measureReadings(): Promise<Figure[]> {
  const provider = await startChild<ReadingsFacts>('./readings-provider.ts', { core: 1 })
  const service: Listening = await startChild('./readings-process.ts', {
    args: [JSON.stringify(provider.facts)],
    isService: true,
  })
  const figures: Figure[] = []
  for (const name of ['simplefin', 'enablebanking'] as const) {
    await takeAsked(provider)
    const rows = Number(await get(service, `/${name}/anew`))
    const pages = toAnchorPages(provider.facts, name, await takeAsked(provider))
    const anchor: Listening = await startChild('./miss-anchor.ts', {
      args: [JSON.stringify(pages)],
    })
    const turns = await takeTurns(
      {
        anchor: () => measureCpu(anchor, '/'),
        kept: () => measureCpu(service, `/${name}`),
        anew: () => measureCpu(service, `/${name}/anew`),
      },
      rounds,
      warmUpRounds,
    )
    await anchor.stop()
    for (const [kind, what, most] of kinds) {
      const ratio = turns.ratio(kind, 'anchor', 'cpuMs')
      const [low, high] = turns.spread(kind, 'anchor', 'cpuMs')
      figures.push({
        bench: 'readings',
        what: `CPU of ${what} at ${name}, ${rows} rows in ${pages.paths.length} answers, 500 of them made`,
        figure: `${turns.median(kind, 'cpuMs').toFixed(1)} ms`,
        anchor: `${turns.median('anchor', 'cpuMs').toFixed(1)} ms fetch, decode, JSON.parse`,
        ratio: `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
        goal: most === null ? '' : `≤ ${most}`,
        met: most === null ? null : ratio <= most,
      })
    }
  }
  await service.stop()
  await provider.stop()
  return figures
}

async function get({ facts }: Child<{ readonly port: number }>, path: string): Promise<string> {
  return (await request(`http://127.0.0.1:${facts.port}${path}`)).body.text()
}

async function takeAsked(provider: Child<ReadingsFacts>): Promise<AskedPages> {
  return JSON.parse(await get(provider, '/')) as AskedPages
}

function toAnchorPages(
  facts: ReadingsFacts,
  name: keyof AskedPages,
  asked: AskedPages,
): AnchorPages {
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

async function measureCpu(child: Listening, path: string) {
  const before = await child.usage()
  for (let turn = 0; turn < perRound; turn += 1) await get(child, path)
  const after = await child.usage()
  return { cpuMs: (after.cpuMicros - before.cpuMicros) / perRound / 1000 }
}

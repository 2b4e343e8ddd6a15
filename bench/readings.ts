/**
 * An uncached read at the providers that give one reading for everything (SimpleFIN, Enable Banking): the
 * adapter's CPU against fetching, decoding and parsing the same answers.
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
const goal = 1.6

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
    const rows = Number(await get(service, `/${name}`))
    const pages = toAnchorPages(provider.facts, name, await takeAsked(provider))
    const anchor: Listening = await startChild('./miss-anchor.ts', {
      args: [JSON.stringify(pages)],
    })
    const turns = await takeTurns(
      {
        anchor: () => measureCpu(anchor, '/'),
        reading: () => measureCpu(service, `/${name}`),
      },
      rounds,
      warmUpRounds,
    )
    await anchor.stop()
    const ratio = turns.ratio('reading', 'anchor', 'cpuMs')
    const [low, high] = turns.spread('reading', 'anchor', 'cpuMs')
    figures.push({
      bench: 'readings',
      what: `CPU of a new reading at ${name}, ${rows} rows in ${pages.paths.length} answers, 500 of them made`,
      figure: `${turns.median('reading', 'cpuMs').toFixed(1)} ms`,
      anchor: `${turns.median('anchor', 'cpuMs').toFixed(1)} ms fetch, decode, JSON.parse`,
      ratio: `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
      goal: `≤ ${goal}`,
      met: ratio <= goal,
    })
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

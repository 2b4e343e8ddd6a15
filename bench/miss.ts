/**
 * A call without accountId that scans 5,000 upstream rows and answers 500, compared with fetching, decoding and parsing the
 * same pages; and five slow numbered pages, compared with the first one and four in flight.
 */
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { type MeasuredService, startService } from './service.ts'
import { type Sample, takeTurns } from './turns.ts'

const rounds = 9
const perRound = 10
const goal = 1.6
const delayMs = 100
/** As many as the provider's budget of a minute allows in addition to the measured rounds. */
const warmUps = 20
/** Page 1, then the other four at once. */
const idealMs = 2 * delayMs
const overMs = 25

export async function measureMisses(): Promise<Figure[]> {
  const service = await startService()
  const anchor = await startChild<{ port: number }>('./miss-anchor.ts', {
    args: [JSON.stringify(await findPages(service))],
  })
  const figures = [await measureCpu(service, anchor), await measurePages(service)]
  await anchor.stop()
  await service.stop()
  return figures
}

async function measureCpu(
  service: MeasuredService,
  anchor: Child<{ port: number }>,
): Promise<Figure> {
  const anchorOnce = async () => {
    await (await request(`http://127.0.0.1:${anchor.facts.port}/`)).body.text()
  }
  const missOnce = async () => {
    const query = `from=${service.freshFrom()}&limit=500`
    const { data } = await service.window('transactions', query, 'MISS')
    if (data.length !== 500) throw new Error(`${data.length} rows instead of 500`)
  }
  const turns = await takeTurns(
    {
      anchor: () => measureChild(anchor, anchorOnce),
      miss: () => measureChild(service.child, missOnce),
    },
    rounds,
  )
  const ratio = turns.ratio('miss', 'anchor', 'cpuMs')
  return {
    bench: 'miss',
    what: 'CPU of 5,000 rows scanned, 500 answered',
    figure: `${turns.median('miss', 'cpuMs').toFixed(1)} ms`,
    anchor: `${turns.median('anchor', 'cpuMs').toFixed(1)} ms fetch, decode, JSON.parse`,
    ratio: ratio.toFixed(2),
    goal: `≤ ${goal}`,
    met: ratio <= goal,
  }
}

async function measureChild(child: Child<unknown>, once: () => Promise<void>): Promise<Sample> {
  const before = await child.usage()
  for (let turn = 0; turn < perRound; turn += 1) await once()
  const after = await child.usage()
  return { cpuMs: (after.cpuMicros - before.cpuMicros) / perRound / 1000 }
}

async function measurePages(service: MeasuredService): Promise<Figure> {
  const once = async () => {
    const started = performance.now()
    await service.window('trades', `from=${service.freshFrom()}&limit=500`, 'MISS')
    return { wallMs: performance.now() - started }
  }
  // Long enough to compile it; the goal is not about a service that has just started.
  for (let turn = 0; turn < warmUps; turn += 1) await once()
  await service.reset('trades', delayMs)
  const turns = await takeTurns({ trades: once }, rounds)
  const pages = (await service.reset('trades', 0)).length / (rounds + 1)
  const wallMs = turns.median('trades', 'wallMs')
  return {
    bench: 'miss',
    what: `wall time of ${pages} numbered pages at ${delayMs} ms each`,
    figure: `${wallMs.toFixed(0)} ms`,
    anchor: `${idealMs} ms, the first page and four in flight`,
    ratio: `+${(wallMs - idealMs).toFixed(0)} ms`,
    goal: `≤ +${overMs} ms`,
    met: wallMs - idealMs <= overMs,
  }
}

/** Where the anchor finds the first five pages of transactions, with a token of its own. */
async function findPages({ provider }: MeasuredService) {
  const access = provider.access.fiskil
  if (access === null) throw new Error('there is no Fiskil')
  const minted = await request(`${access.baseUrl}/v1/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: access.clientId, client_secret: access.clientSecret }),
  })
  const { token } = (await minted.body.json()) as { token: string }
  const headers = { authorization: `Bearer ${token}`, 'x-fiskil-version': 'v3' }
  const query = new URLSearchParams({
    end_user_id: provider.people.find((person) => person.provider === 'fiskil')?.endUserId ?? '',
    from: '2023-01-01T00:00:00Z',
    status: 'POSTED',
    'page[size]': '1000',
  })
  const paths: string[] = []
  while (paths.length < 5) {
    const path = `/v1/banking/transactions?${query}`
    paths.push(path)
    const answer = await request(`${access.baseUrl}${path}`, { headers })
    const { links } = (await answer.body.json()) as { links: { next?: string } }
    const next = new URL(links.next ?? '', access.baseUrl).searchParams.get('page[after]')
    if (next === null) throw new Error('there are fewer than five pages')
    query.set('page[after]', next)
  }
  return { origin: access.baseUrl, paths, headers }
}

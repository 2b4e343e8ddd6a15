/**
 * A call without accountId that scans 5,000 upstream rows and answers 500, and five slow numbered pages: both
 * compared with fetching, decoding and parsing the same pages, in the same run.
 */
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import type { AnchorPages } from './miss-anchor.ts'
import { type MeasuredService, startService } from './service.ts'
import { type Sample, takeTurns } from './turns.ts'

const rounds = 21
/** Of trades: each is a call of the provider's budget of a minute. */
const tradeRounds = 9
const perRound = 10
/** Pages are parsed in one way, to the exact digit. */
const goal = 1.6
/** Rounds that are not counted: the goal is not about a service that has just started. */
const warmUpRounds = 8
const delayMs = 100
/** As many as the provider's budget of a minute allows in addition to the measured rounds. */
const warmUps = 16
const pageCount = 5
/** A page repeats the last row of the page before it. */
const stride = 999
const overMs = 40

type Anchor = Child<{ port: number }>

export async function measureMisses(): Promise<Figure[]> {
  const service = await startService()
  const anchor = await startAnchor(await findPages(service))
  const numbered = await startAnchor(listNumbered(service))
  const figures = [await measureCpu(service, anchor), await measurePages(service, numbered)]
  await anchor.stop()
  await numbered.stop()
  await service.stop()
  return figures
}

const startAnchor = (pages: AnchorPages): Promise<Anchor> =>
  startChild('./miss-anchor.ts', { args: [JSON.stringify(pages)] })

/** One round over the anchor's pages. */
async function askAnchor(anchor: Anchor): Promise<void> {
  await (await request(`http://127.0.0.1:${anchor.facts.port}/`)).body.text()
}

async function measureCpu(service: MeasuredService, anchor: Anchor): Promise<Figure> {
  const missOnce = async () => {
    const query = `from=${service.freshFrom()}&limit=500`
    const { data } = await service.window('transactions', query, 'MISS')
    if (data.length !== 500) throw new Error(`${data.length} rows instead of 500`)
  }
  const turns = await takeTurns(
    {
      anchor: () => measureChild(anchor, () => askAnchor(anchor)),
      miss: () => measureChild(service.child, missOnce),
    },
    rounds,
    warmUpRounds,
  )
  const ratio = turns.ratio('miss', 'anchor', 'cpuMs')
  const [low, high] = turns.spread('miss', 'anchor', 'cpuMs')
  return {
    bench: 'miss',
    what: 'CPU of 5,000 rows scanned, 500 answered',
    figure: `${turns.median('miss', 'cpuMs').toFixed(1)} ms`,
    anchor: `${turns.median('anchor', 'cpuMs').toFixed(1)} ms fetch, decode, JSON.parse`,
    ratio: `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
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

/**
 * Wall time of both in turns: what the service adds to fetching and parsing the same pages as early as it
 * can.
 */
async function measurePages(service: MeasuredService, anchor: Anchor): Promise<Figure> {
  const tradesOnce = () => service.window('trades', `from=${service.freshFrom()}&limit=500`, 'MISS')
  const anchorOnce = () => askAnchor(anchor)
  for (let turn = 0; turn < warmUps; turn += 1) {
    await tradesOnce()
    await anchorOnce()
  }
  await service.reset('trades', delayMs)
  const turns = await takeTurns(
    { trades: () => measureWall(tradesOnce), anchor: () => measureWall(anchorOnce) },
    tradeRounds,
  )
  const served = await service.reset('trades', 0)
  if (served.length !== 2 * (pageCount + 1) * (tradeRounds + 1))
    throw new Error('not the same pages')
  const wallMs = turns.median('trades', 'wallMs')
  const anchorMs = turns.median('anchor', 'wallMs')
  const over = wallMs - anchorMs
  return {
    bench: 'miss',
    what: `wall time of ${pageCount} numbered pages at ${delayMs} ms each, and the look again`,
    figure: `${wallMs.toFixed(0)} ms`,
    anchor: `${anchorMs.toFixed(0)} ms, the same six calls, the first one, four in flight, the first one again`,
    ratio: `${over < 0 ? '-' : '+'}${Math.abs(over).toFixed(0)} ms`,
    goal: `≤ +${overMs} ms`,
    met: over <= overMs,
  }
}

async function measureWall(once: () => Promise<unknown>): Promise<Sample> {
  const started = performance.now()
  await once()
  return { wallMs: performance.now() - started }
}

/** The pages of trades, as the recorder has them: it asks for nothing but their number. */
function listNumbered({ provider }: MeasuredService): AnchorPages {
  const { snaptrade } = provider.access
  if (snaptrade === null) throw new Error('there is no SnapTrade')
  const paths = Array.from(
    { length: pageCount },
    (_, page) => `/accounts/anchor/activities?offset=${page * stride}&limit=1000`,
  )
  return { origin: snaptrade.baseUrl, paths, headers: {}, list: 'data', isNumbered: true }
}

/** Where the anchor finds the first five pages of transactions, with a token of its own. */
async function findPages({ provider }: MeasuredService): Promise<AnchorPages> {
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
  while (paths.length < pageCount) {
    const path = `/v1/banking/transactions?${query}`
    paths.push(path)
    const answer = await request(`${access.baseUrl}${path}`, { headers })
    const { links } = (await answer.body.json()) as { links: { next?: string } }
    const next = new URL(links.next ?? '', access.baseUrl).searchParams.get('page[after]')
    if (next === null) throw new Error('there are fewer than five pages')
    query.set('page[after]', next)
  }
  return { origin: access.baseUrl, paths, headers, list: 'transactions', isNumbered: false }
}

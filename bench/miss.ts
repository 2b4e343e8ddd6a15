/**
 * An unscoped call that scans 5,000 upstream rows and answers 500: CPU against fetching, decoding and parsing the same
 * pages. Providers in a process of their own, candidates in turn, medians of the rounds.
 */
import { request } from 'undici'
import type { ProviderAccess } from '#providers/adapters.ts'
import { type Child, startChild } from './child.ts'

const rounds = Number(process.env.ROUNDS ?? 7)
const perRound = 10

interface ProviderFacts {
  readonly access: ProviderAccess
  readonly people: readonly { readonly provider: string; readonly endUserId?: string }[]
}

const provider = await startChild<ProviderFacts>('./provider.ts')
const access = provider.facts.access.fiskil
if (access === null) throw new Error('no Fiskil')
const people = provider.facts.people.filter((person) => person.provider === 'fiskil')
const tributary = await startChild<{
  port: number
  key: string
  accounts: { id: string; connectionId: string }[]
}>('./miss-tributary.ts', [JSON.stringify({ ...provider.facts, people })])
const connectionId = tributary.facts.accounts[0]?.connectionId
const anchor = await startChild<{ port: number }>('./miss-anchor.ts', [
  JSON.stringify({ origin: access.baseUrl, ...(await findPages()) }),
])

/** The first five pages, with a token of their own. */
async function findPages() {
  const minted = await request(`${access?.baseUrl}/v1/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: access?.clientId, client_secret: access?.clientSecret }),
  })
  const { token } = (await minted.body.json()) as { token: string }
  const headers = { authorization: `Bearer ${token}`, 'x-fiskil-version': 'v3' }
  const first = new URLSearchParams({
    end_user_id: people[0]?.endUserId ?? '',
    from: '2024-01-01T00:00:00Z',
    status: 'POSTED',
    'page[size]': '1000',
  })
  const paths: string[] = []
  for (
    let path: string | null = `/v1/banking/transactions?${first}`;
    path !== null && paths.length < 5;
  ) {
    paths.push(path)
    const answer = await request(`${access?.baseUrl}${path}`, { headers })
    const body = (await answer.body.json()) as { links: { next?: string } }
    const next: string | undefined = body.links.next
    const after: string | null =
      next === undefined ? null : new URL(next, access?.baseUrl).searchParams.get('page[after]')
    if (after === null) break
    first.set('page[after]', after)
    path = `/v1/banking/transactions?${first}`
  }
  return { paths, headers }
}

let counter = 0
async function missOnce(): Promise<void> {
  counter += 1
  const from = new Date(Date.parse('2024-01-01T00:00:00Z') + counter * 1000).toISOString()
  const answer = await request(
    `http://127.0.0.1:${tributary.facts.port}/v1/transactions?connectionId=${connectionId}&from=${from}&limit=500`,
    { headers: { authorization: `Bearer ${tributary.facts.key}` } },
  )
  const body = (await answer.body.json()) as { data: unknown[]; pagination: unknown }
  if (
    answer.statusCode !== 200 ||
    body.data.length !== 500 ||
    answer.headers['x-cache'] !== 'MISS'
  ) {
    throw new Error(
      `not a miss of 500 rows: ${answer.statusCode} ${JSON.stringify(body).slice(0, 200)}`,
    )
  }
}

async function anchorOnce(): Promise<void> {
  await (await request(`http://127.0.0.1:${anchor.facts.port}/`)).body.text()
}

async function measure(child: Child<unknown>, once: () => Promise<void>): Promise<number> {
  const before = await child.usage()
  for (let turn = 0; turn < perRound; turn += 1) await once()
  const after = await child.usage()
  return (after.cpuMicros - before.cpuMicros) / perRound / 1000
}

const cpu = { tributary: [] as number[], anchor: [] as number[] }
for (let round = 0; round <= rounds; round += 1) {
  const anchored = await measure(anchor, anchorOnce)
  const ours = await measure(tributary, missOnce)
  if (round === 0) continue
  cpu.anchor.push(anchored)
  cpu.tributary.push(ours)
}
const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
console.log(
  `miss, 5,000 rows scanned → 500 answered: ${(median(cpu.tributary) / median(cpu.anchor)).toFixed(2)} × the anchor's CPU (${median(cpu.anchor).toFixed(1)} → ${median(cpu.tributary).toFixed(1)} ms)`,
)
await Promise.all([tributary.stop(), anchor.stop(), provider.stop()])

/** What the river of the overview shows: our own counts of 30 days. No provider is asked. */
import type { ConnectionOverview, RunDays } from '#connections/overview.ts'
import { dayMs } from '#kernel/time.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { UsageReport } from '#usage/report.ts'
import { nameOf, needsOwner, pathOf } from '../connections/facts.ts'
import type { PagesContext } from '../context.ts'
import { foreignText } from '../html.ts'
import { readerWords } from '../usage/words.ts'
import type { SignedIn } from '../visit.ts'
import { shortUrl } from '../webhooks/list-page.ts'
import type { River, RiverEnd } from './river.ts'

const days = 30
/** Deliveries of an endpoint that are counted. */
const mostDeliveries = 1000

interface Known {
  readonly connections: readonly ConnectionOverview[]
  readonly counts: RunDays['counts']
  readonly endpoints: readonly EndpointRow[]
}

export async function readRiver(
  context: Pick<PagesContext, 'store' | 'readUsage' | 'clock'>,
  { user }: SignedIn,
  { connections, counts, endpoints }: Known,
): Promise<River> {
  const since = context.clock.now() - days * dayMs
  const [report, deliveries] = await Promise.all([
    context.readUsage(user, days),
    context.store.deliveries.count(user.id, { since, limit: mostDeliveries }),
  ])
  const sources = connections.map((overview): RiverEnd => {
    const runs = counts.get(overview.row.id) ?? []
    return {
      name: nameOf(overview.row),
      path: pathOf(overview.row),
      traffic: runs.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0),
      unit: 'sync',
      isTroubled: needsOwner(overview),
    }
  })
  const readers = report.readers.map(
    ({ kind, name, requests: traffic }): RiverEnd => ({
      name: foreignText(name ?? readerWords[kind]),
      path: readerPaths[kind],
      traffic,
      unit: 'request',
      isTroubled: false,
    }),
  )
  const ends = endpoints.map((endpoint): RiverEnd => {
    const { id, health, disabledReason } = endpoint
    const traffic = deliveries.get(id) ?? 0
    return {
      name: shortUrl(endpoint),
      path: `/webhooks/${id}`,
      traffic,
      unit: 'delivery',
      isCut: traffic === mostDeliveries,
      isTroubled: health !== 'healthy' && disabledReason !== 'owner',
    }
  })
  return { sources, readers, endpoints: ends }
}

const readerPaths: Readonly<Record<UsageReport['readers'][number]['kind'], string>> = {
  key: '/keys',
  agent: '/agents',
  program: '/simplefin/create',
  dashboard: '/money',
  ended: '/usage',
  before: '/usage',
}

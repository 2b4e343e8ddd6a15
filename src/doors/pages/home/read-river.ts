/** What the river of the overview shows: our own counts of 30 days. No provider is asked. */
import type { ConnectionOverview, RunDays } from '#connections/overview.ts'
import type { UsageDoor } from '#contract/usage.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { nameOf, needsOwner, pathOf } from '../connections/facts.ts'
import type { PagesContext } from '../context.ts'
import type { SignedIn } from '../visit.ts'
import { showUrl } from '../webhooks/list-page.ts'
import type { River, RiverEnd } from './river.ts'

const days = 30
const dayMs = 86_400_000
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
  const [report, ...deliveries] = await Promise.all([
    context.readUsage(user, days),
    ...endpoints.map((endpoint) => countDeliveries(context, endpoint)),
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
  const byDoor = Map.groupBy(report.operations, ({ door }) => door)
  const readers = doors.flatMap(({ door, name, path }): RiverEnd[] => {
    const traffic = (byDoor.get(door) ?? []).reduce((sum, { requests }) => sum + requests, 0)
    return traffic === 0 ? [] : [{ name, path, traffic, unit: 'request', isTroubled: false }]
  })
  return { sources, readers: [...readers, ...deliveries] }
}

const doors: readonly { readonly door: UsageDoor; readonly name: string; readonly path: string }[] =
  [
    { door: 'rest', name: 'Programs', path: '/keys' },
    { door: 'mcp', name: 'Agents', path: '/agents' },
    { door: 'simplefin', name: 'SimpleFIN programs', path: '/simplefin/create' },
    { door: 'dashboard', name: 'These pages', path: '/money' },
  ]

async function countDeliveries(
  { store, clock }: Pick<PagesContext, 'store' | 'clock'>,
  endpoint: EndpointRow,
): Promise<RiverEnd> {
  const since = clock.now() - days * dayMs
  const attempts = await store.deliveries.listAttempts(endpoint.id, {
    since,
    limit: mostDeliveries,
  })
  const { health, disabledReason, id } = endpoint
  return {
    name: showUrl(endpoint),
    path: `/webhooks/${id}`,
    traffic: attempts.length,
    unit: 'delivery',
    isCut: attempts.length >= mostDeliveries,
    isTroubled: health !== 'healthy' && disabledReason !== 'owner',
  }
}

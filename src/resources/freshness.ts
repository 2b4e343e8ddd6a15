/**
 * How fresh each kind of data of a connection is (reading R40): what the institution and the last syncs say.
 * Balances and holdings are read when somebody asks, so that only their institution's time is known. A narrow
 * caller is told of the kinds of data that it may read (reading R43).
 */
import type { Caller } from '#auth/caller.ts'
import { hasKeyScope } from '#contract/reach.ts'
import type { Freshness } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { type Millis, toIsoOrNull } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { SyncRunRow, SyncState } from '#store/ports/syncs.ts'
import { reportedTime } from './data-age.ts'
import type { ReadOptions } from './read-context.ts'
import { categoryOf } from './target.ts'

/** What `include=freshness` adds. */
export interface FreshnessFields {
  readonly freshness: Freshness
  readonly consentExpiresAt: string | null
}

type Kind = NonNullable<Freshness['balances']>

/** Reads that of all connections of the user: three queries, however many there are. */
export async function readFreshness(
  { store, adapters }: Pick<ReadOptions, 'store' | 'adapters'>,
  { userId, reach }: Pick<Caller, 'userId' | 'reach'>,
): Promise<ReadonlyMap<ConnectionId, FreshnessFields>> {
  const [rows, states, ended] = await Promise.all([
    store.connections.list(userId),
    store.syncs.listStates(userId),
    store.syncs.listLastRuns(userId, ['succeeded', 'failed']),
  ])
  const stateOf = new Map(states.map((state) => [state.connectionId, state]))
  const endOf = new Map(ended.map((run) => [run.connectionId, run]))
  return new Map(
    rows.map((row) => {
      const asOf = reportedTime(adapters[row.provider], row)
      const parts = toParts(row, asOf, { state: stateOf.get(row.id), run: endOf.get(row.id) })
      return [row.id, { ...parts, freshness: readable(parts.freshness, reach) }]
    }),
  )
}

function readable(freshness: Freshness, reach: Caller['reach']): Freshness {
  if (reach === undefined) return freshness
  const kinds = Object.entries(freshness) as [keyof Freshness, Kind][]
  return Object.fromEntries(kinds.filter(([kind]) => hasKeyScope(reach, kind)))
}

interface Synced {
  readonly state: SyncState | undefined
  readonly run: SyncRunRow | undefined
}

function toParts(row: ConnectionRow, asOf: Millis | null, { state, run }: Synced): FreshnessFields {
  const failure = toFailure(row, run)
  const asked: Kind = { asOf: toIsoOrNull(asOf), readAt: null, ...failure, nextReadAt: null }
  const read: Kind = {
    ...asked,
    readAt: toIsoOrNull(state?.rowsReadAt ?? null),
    nextReadAt: toIsoOrNull(state?.nextAt ?? null),
  }
  return {
    freshness:
      categoryOf(row.provider) === 'banking'
        ? { balances: asked, transactions: read }
        : { holdings: asked, trades: read },
    consentExpiresAt: toIsoOrNull(row.consentExpiresAt),
  }
}

/** A lost consent is over where it was given again. */
function toFailure(
  { status }: ConnectionRow,
  run: SyncRunRow | undefined,
): Pick<Kind, 'failedAt' | 'error'> {
  const { failure, endedAt, startedAt } = run ?? {}
  const isOver = status === 'active' && failure?.code === 'consent_lost'
  if (failure === null || failure === undefined || isOver) return { failedAt: null, error: null }
  const { code, message } = failure
  return { failedAt: toIsoOrNull(endedAt ?? startedAt ?? null), error: { code, message } }
}

/**
 * What a person sees of their connections at a glance: status, accounts, the last success and failure, the
 * next sync, and the runs of the last days. Our own rows only: no provider is asked, and nothing of it is
 * money data.
 */
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import type { ConnectionRow, StoredStatus } from '#store/ports/connections.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { RunCounts, SyncRunRow, SyncState } from '#store/ports/syncs.ts'

/** Days of the picture; runs are kept for 30 days (src/syncs/worker.ts). */
export const pictureDays = 30

export interface ConnectionOverview {
  readonly row: ConnectionRow
  readonly accounts: number
  /** In alphabetical order. */
  readonly accountNames: readonly string[]
  /** Null: one is in progress, or it is not known yet. */
  readonly nextSyncAt: number | null
  readonly isSyncing: boolean
  /** When rows were last read completely for events; null: never. */
  readonly rowsReadAt: number | null
  /** When the last run that succeeded ended; null: none of the runs that are kept did. */
  readonly lastSuccessAt: number | null
  /** The last run that ended, when it failed. */
  readonly failure: SyncFailureSeen | null
}

export interface SyncFailureSeen {
  readonly code: string
  /** Written here, not by a provider (src/syncs/failure.ts). */
  readonly message: string
  readonly at: number
  /** Failed runs since the last success. */
  readonly failures: number
}

export type DayRuns = RunCounts

export interface RunDays {
  /** The first instants of the days, ascending. */
  readonly days: readonly number[]
  readonly counts: ReadonlyMap<ConnectionId, readonly DayRuns[]>
}

type Reads = Pick<StoreReader, 'connections' | 'accounts' | 'syncs'>

/** Newest first, as connections are listed. Five queries, or six, however many connections there are. */
export async function readOverview(
  { connections, accounts, syncs }: Reads,
  userId: UserId,
): Promise<ConnectionOverview[]> {
  const [rows, owned, states, succeeded, ended] = await Promise.all([
    connections.list(userId),
    accounts.list(userId),
    syncs.listStates(userId),
    syncs.listLastRuns(userId, ['succeeded']),
    syncs.listLastRuns(userId, ['succeeded', 'failed']),
  ])
  const accountsOf = Map.groupBy(owned, ({ connectionId }) => connectionId)
  const [stateOf, successOf, endOf] = [
    byConnection(states),
    byConnection(succeeded),
    byConnection(ended),
  ]
  // After the clock was set back the newest start is not the last run: the count of failures knows.
  const isHidden = states.some(
    ({ connectionId, failures }) => failures > 0 && endOf.get(connectionId)?.state !== 'failed',
  )
  const failureOf = isHidden ? byConnection(await syncs.listLastRuns(userId, ['failed'])) : endOf
  return rows.map((row) => {
    const state = stateOf.get(row.id)
    return {
      row,
      accounts: accountsOf.get(row.id)?.length ?? 0,
      accountNames: (accountsOf.get(row.id) ?? []).map(({ name }) => name).toSorted(byAlphabet),
      nextSyncAt: state?.nextAt ?? null,
      isSyncing: state !== undefined && state.nextAt === null,
      rowsReadAt: state?.rowsReadAt ?? null,
      lastSuccessAt: successOf.get(row.id)?.endedAt ?? null,
      failure: toFailureSeen(failureOf.get(row.id), state),
    }
  })
}

const byAlphabet = (one: string, other: string) => (one < other ? -1 : 1)

function byConnection<Row extends { readonly connectionId: ConnectionId }>(rows: readonly Row[]) {
  return new Map(rows.map((row) => [row.connectionId, row]))
}

function toFailureSeen(
  run: SyncRunRow | undefined,
  state: SyncState | undefined,
): SyncFailureSeen | null {
  if (run === undefined || run.failure === null || state?.failures === 0) return null
  const { failure, endedAt, startedAt } = run
  return { ...failure, at: endedAt ?? startedAt, failures: state?.failures ?? 1 }
}

/** The runs of the last 30 days, today included, as days of this zone. One query. */
export async function readRunDays(
  { syncs }: Pick<StoreReader, 'syncs'>,
  userId: UserId,
  { now, zone }: { readonly now: number; readonly zone: string },
): Promise<RunDays> {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).startOfDay()
  const starts = Array.from({ length: pictureDays + 1 }, (_, index) => {
    // In some zones a day begins after midnight.
    return today.add({ days: index + 1 - pictureDays }).startOfDay().epochMilliseconds
  })
  const counts = await syncs.countRuns(userId, starts)
  return { days: starts.slice(0, -1), counts }
}

/** Those that need their owner first: with a lost consent, then with a failing sync, then the others. */
export function sortByNeed(all: readonly ConnectionOverview[]): ConnectionOverview[] {
  const needOf = ({ row, failure }: ConnectionOverview) =>
    needs[row.status] + (failure === null ? 0 : 1)
  return all.toSorted((one, other) => needOf(other) - needOf(one))
}

const needs: Readonly<Record<StoredStatus, number>> = {
  revoked: 6,
  invalidated: 6,
  pending_mfa: 4,
  active: 0,
  deleting: 0,
}

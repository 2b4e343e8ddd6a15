/**
 * When each connection is synced next, and the results of its runs. One row per connection has the due time
 * and the lease: only the holder of the lease runs the sync, and the lease of a crashed process expires.
 */

import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, SyncRunId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { WaitLimits } from './waits.ts'

/** `linked`: the connection was created or linked again; `provider`: the provider sent a webhook. */
export type SyncReason = 'schedule' | 'operator' | 'provider' | 'linked'

/** A sync that this process may run until `leaseUntil`. */
export interface ClaimedSync {
  readonly runId: SyncRunId
  readonly connectionId: ConnectionId
  readonly userId: UserId
  readonly provider: Provider
  readonly reason: SyncReason
  readonly dueAt: Millis
  readonly leaseUntil: Millis
  /** Failed runs since the last success. */
  readonly failures: number
  /** When rows were last read completely; null: never. */
  readonly rowsReadAt: Millis | null
  /** The instant from which the ledger has every row of the connection; null: it has none yet. */
  readonly ledgerFrom: number | null
}

export type SyncOutcome =
  | {
      readonly kind: 'succeeded'
      readonly newCount: number
      readonly updatedCount: number
      readonly chunks: number
      /** Null: no rows were read (status only), so the stored value stays. */
      readonly rowsReadAt: Millis | null
      /** Null: there is no ledger. */
      readonly ledgerFrom: number | null
    }
  /** `message` is shown to the owner: safe to show, never money data. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** Its process stopped: it counts as no failure, and is begun again for the same reason. */
  | { readonly kind: 'abandoned' }

/** `abandoned`: its process stopped, crashed or lost the lease during the run. */
export type SyncRunState = 'running' | 'succeeded' | 'failed' | 'abandoned'

export interface SyncRunRow {
  readonly id: SyncRunId
  readonly connectionId: ConnectionId
  readonly userId: UserId
  readonly reason: SyncReason
  readonly state: SyncRunState
  readonly startedAt: Millis
  readonly endedAt: Millis | null
  readonly newCount: number
  readonly updatedCount: number
  readonly chunks: number
  readonly failure: { readonly code: string; readonly message: string } | null
}

/** The sync of one connection, as it stands. */
export interface SyncState {
  readonly connectionId: ConnectionId
  /** When it is due next; null: a run is in progress. */
  readonly nextAt: Millis | null
  /** Failed runs since the last success. */
  readonly failures: number
  /** When rows were last read completely; null: never. */
  readonly rowsReadAt: Millis | null
}

/** The runs of one connection that began on one day. */
export interface RunCounts {
  readonly succeeded: number
  readonly failed: number
}

export interface SyncBacklog {
  /** Due time of the oldest due sync that is not running; null: none is due. */
  readonly oldestDueAt: Millis | null
  readonly due: number
  readonly running: number
}

/**
 * A row is created with its connection (`ConnectionStore.save`, due at once, reason `linked`; linking a
 * connection again makes it due at once) and deleted with it. `deleting` connections are never claimed.
 */
export interface SyncStore {
  /**
   * Due at `at` unless it is due earlier. During a run it becomes due again at `at`, after the run. Another
   * reason replaces `schedule`, also when the earlier time stays: a requested sync always reads rows.
   */
  request(
    connectionId: ConnectionId,
    due: { readonly at: Millis; readonly reason: SyncReason },
  ): Promise<void>
  /**
   * Leases at most `limit` due syncs, the oldest first, and starts a run of each. A sync with an expired
   * lease is due again, and its previous run becomes `abandoned`. Two processes never get the same sync.
   */
  claimDue(options: {
    readonly now: Millis
    readonly leaseMs: number
    readonly limit: number
    /** Connections of these are left to others. */
    readonly except?: readonly Provider[]
  }): Promise<readonly ClaimedSync[]>
  /** Leases this sync, due or not. Returns the id of a run under way; null: no such connection. */
  claim(
    connectionId: ConnectionId,
    options: { readonly now: Millis; readonly leaseMs: number; readonly reason: SyncReason },
  ): Promise<
    | { readonly kind: 'claimed'; readonly sync: ClaimedSync }
    | { readonly kind: 'running'; readonly runId: SyncRunId }
    | null
  >
  /** False: the lease is lost or the connection is `deleting`, and the run must end without writing. */
  renew(runId: SyncRunId, leaseUntil: Millis): Promise<boolean>
  /**
   * Ends the run and releases the lease. Call it last in the transaction that stores the run's results (the
   * other steps lock the user's row first): false means that the lease is lost or the connection is
   * `deleting`, and the transaction must throw. A failed run is due again for the same reason, a successful
   * one for `schedule`.
   */
  finish(
    runId: SyncRunId,
    end: {
      readonly outcome: SyncOutcome
      readonly endedAt: Millis
      /** When it is due next; an earlier request during the run takes precedence. */
      readonly nextDueAt: Millis
    },
  ): Promise<boolean>
  findRun(id: SyncRunId): Promise<SyncRunRow | null>
  /** Newest first. */
  listRuns(connectionId: ConnectionId, limit: number): Promise<readonly SyncRunRow[]>
  /** The syncs of each connection of the user, those of `deleting` ones included. */
  listStates(userId: UserId): Promise<readonly SyncState[]>
  /** The newest run in one of these states, of each connection of the user that has one. */
  listLastRuns(userId: UserId, states: readonly SyncRunState[]): Promise<readonly SyncRunRow[]>
  /**
   * The ended runs of the user's connections by day; a connection without any is absent.
   * @param days the instants at which days begin, ascending, and the end of the last one: 2 to 32.
   */
  countRuns(
    userId: UserId,
    days: readonly number[],
  ): Promise<ReadonlyMap<ConnectionId, readonly RunCounts[]>>
  /** Deletes ended runs that started before `before`, about `limit` per call; returns how many. */
  sweepRuns(bounds: { readonly before: Millis; readonly limit: number }): Promise<number>
  /** Applies the limits to due times and leases; returns the number of syncs that were changed. */
  shortenWaits(limits: WaitLimits): Promise<number>
  readBacklog(now: Millis): Promise<SyncBacklog>
}

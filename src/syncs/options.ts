/**
 * What syncs need of other rooms, and what they report to operators. The composition root injects all of it.
 */
import type { SyncEventType } from '#contract/events.ts'
import type { Provider } from '#contract/resources.ts'
import type { JobReport } from '#jobs/periodic.ts'
import type { ConnectionId, SyncRunId, UserId } from '#kernel/ids.ts'
import type { Clock, Millis } from '#kernel/time.ts'
import type { Guard } from '#providers/guard.ts'
import type { Adapters, CallContext } from '#providers/port.ts'
import type { NewEvent } from '#store/ports/events.ts'
import type { Store } from '#store/ports/store.ts'
import type { SyncReason } from '#store/ports/syncs.ts'
import type { SyncFailureCode } from './failure.ts'

/** What one run found, for the envelopes (src/webhooks/envelope.ts). */
export interface SyncEventDraft {
  readonly userId: UserId
  readonly connectionId: ConnectionId
  readonly runId: SyncRunId
  readonly type: SyncEventType
  readonly createdAt: Millis
  /** JSON texts of event objects. */
  readonly new: readonly string[]
  readonly updated: readonly string[]
  /** Null: for endpoints that do not ask for pending rows; absent: for all. */
  readonly pending?: PendingDraft | null
}

/** What is pending since the last event, and the ids of what is not any more (reading R39). */
export interface PendingDraft {
  readonly rows: readonly string[]
  readonly removed: readonly string[]
}

/** One run has ended. It names no row. */
export interface SyncRunReport {
  readonly runId: SyncRunId
  readonly connectionId: ConnectionId
  readonly provider: Provider
  readonly reason: SyncReason
  /** `lost`: another process has leased the connection meanwhile, and nothing was written. */
  readonly result: 'succeeded' | 'failed' | 'lost'
  /** Null: the run did not fail. */
  readonly code: SyncFailureCode | null
  readonly durationMs: number
  readonly counts: SyncCounts
  /** For the log; null: nothing went wrong. */
  readonly error: unknown
}

export interface SyncCounts {
  /** Rows that were read; 0 also for a run that reads no rows. */
  readonly read: number
  readonly new: number
  readonly updated: number
  /** No longer at the provider. */
  readonly gone: number
  /** Gone before, and returned. */
  readonly returned: number
  /** Amounts finer than the minor unit (reading R24b). */
  readonly rounded: number
  readonly chunks: number
  /** Accounts that the provider refused, beside others that it gave. */
  readonly unread: number
}

export interface SyncReport {
  /** Does the work of one run, up to and including `ended`. */
  around<Result>(work: () => Promise<Result>): Promise<Result>
  ended(run: SyncRunReport): void
}

export interface SyncOptions {
  readonly store: Store
  readonly adapters: Adapters
  readonly guard: Guard
  readonly clock: Clock
  /** From 0 up to 1, for jitter. */
  readonly random: () => number
  /** `SYNC_INTERVAL_MINUTES`. */
  readonly intervalMinutes: number
  /** The zone of users who never set one (contract, Transaction). */
  readonly defaultTimezone: string
  /** Updates the connection and its accounts from the provider. */
  readonly refresh: (connectionId: ConnectionId, call: CallContext) => Promise<void>
  /** The events of a run: at least one, in their order. */
  readonly makeEvents: (draft: SyncEventDraft) => Iterable<NewEvent>
  /** Makes the ids of pending rows. */
  readonly pendingSecret: Uint8Array
  readonly report: SyncReport
  readonly jobs: JobReport
}

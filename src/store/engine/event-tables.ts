/**
 * The types of the event river's tables: `migrations/0008_events.sql`, `0021_connection_events.sql`,
 * `0025_pending_events.sql` and `key-migrations/`. Instants are written as `Date` and read as milliseconds,
 * as in `tables.ts`.
 */
import type { ColumnType } from 'kysely'
import type { ConnectionEventType, EventType } from '#contract/events.ts'
import type { ConnectionStatus, Provider } from '#contract/resources.ts'
import type {
  AccountId,
  ConnectionId,
  ConsumerId,
  DeliveryId,
  EndpointId,
  EventId,
  FeedId,
  SyncRunId,
  UserId,
  WaitingEventId,
} from '#kernel/ids.ts'
import type { DeliveryStatus } from '../ports/deliveries.ts'
import type { DisabledReason, EndpointHealth } from '../ports/endpoints.ts'
import type { SyncReason, SyncRunState } from '../ports/syncs.ts'

type Moment = ColumnType<number, Date, Date>
type MomentOrNull = ColumnType<number | null, Date | null, Date | null>

interface SyncTables {
  readonly syncs: {
    connection_id: ConnectionId
    user_id: UserId
    provider: Provider
    /** While it runs: when the lease ends. */
    due_at: Moment
    /** Why the due or the current run is due. */
    reason: SyncReason
    /** The current run, which holds the lease. */
    run_id: SyncRunId | null
    /** When the current run was due. */
    was_due_at: MomentOrNull
    /** Requested during the run: due at this time, after the run. */
    requested_at: MomentOrNull
    requested_reason: SyncReason | null
    failures: number
    rows_read_at: MomentOrNull
    ledger_from: MomentOrNull
  }
  readonly sync_runs: {
    id: SyncRunId
    connection_id: ConnectionId
    user_id: UserId
    reason: SyncReason
    state: SyncRunState
    started_at: Moment
    ended_at: MomentOrNull
    new_count: number
    updated_count: number
    chunks: number
    failure_code: string | null
    failure_message: string | null
  }
  readonly ledger_keys: { user_id: UserId; secret: Uint8Array; secret_key: string }
  readonly ledger_months: { account_id: AccountId; month: number; entries: Uint8Array }
  /** Separated by blanks. */
  readonly pending_ledgers: { account_id: AccountId; ids: string }
}

interface WaitingTables {
  readonly connection_events: {
    id: WaitingEventId
    user_id: UserId
    /** The order of the user's changes. */
    position: number
    type: ConnectionEventType
    connection_id: ConnectionId
    provider: Provider
    institution_id: string
    institution_name: string
    institution_logo: string | null
    status: ConnectionStatus
    last_refreshed_at: MomentOrNull
    /** When the connection was created. */
    linked_at: Moment
    /** When the consent ends, in a `connection.expiring`. */
    expires_at: MomentOrNull
    created_at: Moment
  }
}

interface DeliveryTables {
  readonly webhook_endpoints: {
    id: EndpointId
    user_id: UserId
    sealed_url: Uint8Array
    /** Event types, comma-separated. */
    events: string
    skip_empty: boolean
    pending: ColumnType<boolean, boolean | undefined, boolean>
    health: EndpointHealth
    failures: number
    failing_since: MomentOrNull
    warned_days: number
    disabled_reason: DisabledReason | null
    created_at: Moment
    secret: Uint8Array
    previous_secret: Uint8Array | null
    previous_until: MomentOrNull
    /** Fingerprint of the key that sealed both secrets. */
    secret_key: string
    lease: string | null
    /** While it is leased: when the lease ends. Null: nothing is pending. */
    next_due_at: MomentOrNull
    /** The earliest time at which it may be due, except for tests. */
    not_before: MomentOrNull
    /** When it was served last, while more is due there; null while it is leased. */
    served_at: MomentOrNull
    /** Position of its newest delivery. */
    last_position: number
    /** Deliveries up to this position are not pending, whatever their rows say; null: all rows are right. */
    missed_to: ColumnType<number | null, number | null | undefined, number | null>
  }
  readonly events: {
    id: EventId
    user_id: UserId
    connection_id: ConnectionId | null
    run_id: SyncRunId | null
    type: EventType
    chunk: number
    total_chunks: number
    is_empty: boolean
    /** Null: it is sent to every endpoint that takes its type. */
    has_pending: ColumnType<boolean | null, boolean | null | undefined, boolean | null>
    created_at: Moment
    size: number
    body_mac: Uint8Array
    /** Marked: its key and payload are being destroyed, and it is not sent any more. */
    shredding: boolean
    shredded_at: MomentOrNull
    payload: Uint8Array | null
    /** In its user's feed; null: it is not in one. */
    position: number | null
  }
  readonly deliveries: {
    id: DeliveryId
    event_id: EventId
    endpoint_id: EndpointId
    user_id: UserId
    /** The connection; of a test event or a replay: the delivery itself. */
    lane: string
    position: number
    status: DeliveryStatus
    /** Null while an earlier one of the lane is pending, and when it has ended. */
    due_at: MomentOrNull
    attempts: number
    is_replay: boolean
    is_test: boolean
    created_at: Moment
  }
  readonly attempts: {
    delivery_id: DeliveryId
    number: number
    at: Moment
    status: number | null
    failure: string | null
    duration_ms: number
    response: Uint8Array | null
  }
}

interface FeedTables {
  readonly event_feeds: { user_id: UserId; id: FeedId; last_position: number }
  readonly event_consumers: {
    id: ConsumerId
    user_id: UserId
    name: string
    acknowledged: number
    created_at: Moment
    asked_at: Moment
  }
}

export interface EventTables extends SyncTables, WaitingTables, DeliveryTables, FeedTables {
  /** The only table in the place of the event keys. */
  readonly event_keys: {
    event_id: EventId
    secret: Uint8Array
    secret_key: string
    created_at: Moment
  }
}

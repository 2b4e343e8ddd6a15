/**
 * Events about connections that wait to be accepted (reading R41). A change of a connection is stored here in
 * its own transaction, where an endpoint of the user names the event; `take` ends the wait in the transaction
 * that accepts the event. So a crash loses none, and two processes accept none twice.
 */
import type { ConnectionEventType, ExpiryDays } from '#contract/events.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId, UserId, WaitingEventId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { ConnectionRow } from './connections.ts'

/** A connection as the change left it; a removed one with the last status that its user saw. */
export interface ChangedConnection
  extends Pick<
    ConnectionRow,
    | 'id'
    | 'provider'
    | 'institutionId'
    | 'institutionName'
    | 'institutionLogo'
    | 'lastRefreshedAt'
    | 'createdAt'
  > {
  readonly status: ConnectionStatus
}

export interface WaitingEvent {
  readonly id: WaitingEventId
  readonly userId: UserId
  readonly type: ConnectionEventType
  readonly connection: ChangedConnection
  /** When the consent ends, in a `connection.expiring`; otherwise null. */
  readonly expiresAt: Millis | null
  readonly createdAt: Millis
}

/**
 * An active connection whose consent ends, and whose user has an endpoint that names the event, or fetches
 * events.
 */
export interface ExpiringRow {
  readonly id: ConnectionId
  readonly consentExpiresAt: Millis
  /** The end that was announced last; null: none was. */
  readonly toldExpiresAt: Millis | null
  /** How many days before; null: none was announced. */
  readonly toldDays: number | null
}

export interface ConnectionEventStore {
  /** At most `limit`, of all users but `without`; those of one user together, in the order of the changes. */
  listWaiting(limit: number, without?: readonly UserId[]): Promise<readonly WaitingEvent[]>
  /**
   * Ends the wait of these events of one user, and returns those that it found: the transaction accepts them.
   * None of a user who is being deleted.
   */
  take(userId: UserId, ids: readonly WaitingEventId[]): Promise<ReadonlySet<WaitingEventId>>
  /** Those whose consent ends before `before`; see `ConnectionStore.listExpiring`. */
  listExpiring(page: {
    readonly before: Millis
    readonly after: { readonly consentExpiresAt: Millis; readonly id: ConnectionId } | null
    readonly limit: number
  }): Promise<readonly ExpiringRow[]>
  /**
   * Stores that this end is announced this many days before, with its event. False, with nothing stored: that
   * was done, for as many or fewer days; the connection is not active; its consent ends at another time; or
   * no endpoint names the event.
   */
  announceExpiry(
    id: ConnectionId,
    end: { readonly expiresAt: Millis; readonly days: ExpiryDays; readonly at: Millis },
  ): Promise<boolean>
}

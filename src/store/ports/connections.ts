/**
 * Connections of a person to an institution in the store. A query on
 * behalf of a user includes the user's id, so that other users' rows are not found.
 */

import type { ConnectionStatus, Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UpstreamId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { LoginRow } from './logins.ts'

/** `deleting` is internal: such connections and their accounts are never returned to users. */
export type StoredStatus = ConnectionStatus | 'deleting'

export interface ConnectionRow {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly loginId: LoginId
  readonly provider: Provider
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  readonly institutionName: string
  readonly institutionLogo: string | null
  readonly status: StoredStatus
  /**
   * When the newest status that is known was taken; of a connection that is being deleted, when that began.
   * Null: a former version did not store it.
   */
  readonly statusAt: Millis | null
  readonly lastRefreshedAt: Millis | null
  readonly createdAt: Millis
  /**
   * The consent behind a person's own key ends at the provider too, where the connection is being deleted.
   */
  readonly endsAtProvider: boolean
  /** When the consent ends, as the provider last reported it; null: it does not. */
  readonly consentExpiresAt: Millis | null
  /** The owner's own name for it, for the pages of that person alone; null: none. */
  readonly label: string | null
}

export interface NewConnection {
  readonly userId: UserId
  readonly loginId: LoginId
  readonly provider: Provider
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  readonly institutionName: string
  readonly institutionLogo: string | null
  readonly status: ConnectionStatus
  readonly lastRefreshedAt: Millis | null
  readonly createdAt: Millis
  readonly consentExpiresAt: Millis | null
}

/** A connection whose end of consent is known. */
export interface ExpiringConnection extends ConnectionRow {
  readonly consentExpiresAt: Millis
}

/** A status that a call with a login's credentials showed. */
export interface LearntStatus {
  /** The credentials that were used. */
  readonly login: Pick<LoginRow, 'id' | 'version'>
  /** Null: every connection of the login. */
  readonly connectionId: ConnectionId | null
  /** Connections in other states are not changed. */
  readonly from: readonly ConnectionStatus[]
  readonly to: ConnectionStatus
  /** When it was learnt: `saveReportedStatus` ignores earlier reports. Absent: it is not stored. */
  readonly at?: Millis
}

/** Absent: only the next list is that of a renewal. */
export interface AccountRenewal {
  /** Accounts that arrive later, until then, are recognised by their numbers (`AccountStore.replace`). */
  readonly until: Millis
}

/** A status that the provider reported by itself, in a webhook. */
export interface ReportedStatus {
  readonly connectionId: ConnectionId
  /** A connection in another state is not changed. */
  readonly from: readonly ConnectionStatus[]
  readonly to: ConnectionStatus
  /** When the connection took the status, by the provider's clock. */
  readonly at: Millis
}

export interface ConnectionStore {
  /** Without `deleting`; newest first, equal times by id descending (reading R16b). */
  list(userId: UserId): Promise<readonly ConnectionRow[]>
  /** The user's own, without `deleting`. */
  get(userId: UserId, id: ConnectionId): Promise<ConnectionRow | null>
  /** All that is stored of the user: `deleting` connections and hidden accounts included. */
  countHeld(userId: UserId): Promise<{ readonly connections: number; readonly accounts: number }>
  /** For operators: of any user, `deleting` included. */
  find(id: ConnectionId): Promise<ConnectionRow | null>
  /** Every connection of a login, `deleting` included. */
  listByLogin(loginId: LoginId): Promise<readonly ConnectionRow[]>
  /** All users' `deleting` connections by id; only ids after `after`, at most `limit`. */
  listDeleting(page: {
    readonly after: ConnectionId | null
    readonly limit: number
  }): Promise<readonly ConnectionRow[]>
  /**
   * Creates a connection, or updates the one with the same (user, provider, upstream id) except for its
   * times. A `deleting` one is never reused. Its sync becomes due at `createdAt` (ports/syncs.ts). @throws
   * OwnerGoneError
   */
  save(connection: NewConnection): Promise<ConnectionRow>
  /**
   * Stores a new upstream id that the provider gave the connection (a renewed consent); our id stays. The
   * next list of accounts is then that of a renewal (`AccountStore.replace`).
   */
  repoint(id: ConnectionId, upstreamId: UpstreamId, renewal?: AccountRenewal): Promise<void>
  /**
   * Stores the consent that a connection had before it was repointed as a connection of its own that is being
   * deleted since `at`, so that it ends as a removed one does. `row`: as it was.
   */
  leaveFormer(row: ConnectionRow, at: Millis): Promise<void>
  /** The consent was renewed under the same upstream id: the next list of accounts is that of a renewal. */
  noteRenewal(id: ConnectionId, renewal?: AccountRenewal): Promise<void>
  /** The owner's own name; null: none. False: the connection is not the user's, or is being deleted. */
  setLabel(userId: UserId, id: ConnectionId, label: string | null): Promise<boolean>
  /** When the consent ends; null: the provider does not report it. */
  setConsentExpiry(id: ConnectionId, at: Millis | null): Promise<void>
  /**
   * All users' connections, except `deleting` and `revoked` ones, whose consent ends before `before`; the
   * earliest end first, equal ones by id. Only those after `after`, at most `limit`.
   */
  listExpiring(page: {
    readonly before: Millis
    readonly after: { readonly consentExpiresAt: Millis; readonly id: ConnectionId } | null
    readonly limit: number
  }): Promise<readonly ExpiringConnection[]>
  /** Updates the institution's details from the provider. */
  setInstitution(
    id: ConnectionId,
    institution: Pick<NewConnection, 'institutionId' | 'institutionName' | 'institutionLogo'>,
  ): Promise<void>
  /** False, with nothing changed, when the connection does not exist, has this status or is `deleting`. */
  setStatus(id: ConnectionId, status: StoredStatus): Promise<boolean>
  /**
   * Sets the status `deleting`, and keeps whether the end at the provider was asked for. Called again, it may
   * still be asked for, and is never taken back. False when nothing changed, and when there is no such
   * connection.
   */
  startDeletion(
    id: ConnectionId,
    asked: Pick<ConnectionRow, 'endsAtProvider'> & { readonly at: Millis },
  ): Promise<boolean>
  /**
   * As `setStatus`, provided that the login still has the credentials that the status was learnt with; one
   * transaction compares and sets. A status learnt with replaced credentials changes nothing.
   */
  saveLearntStatus(learnt: LearntStatus): Promise<void>
  /**
   * As `setStatus`, provided that nothing was reported or learnt of the same time or a later one: false when
   * it was, and when there is no such connection. Webhooks arrive late, twice and in any order.
   */
  saveReportedStatus(reported: ReportedStatus): Promise<boolean>
  /** `isReported`: the provider's time, stored as it is. Otherwise our own, which never moves back. */
  setRefreshed(
    id: ConnectionId,
    at: Millis,
    options: { readonly isReported: boolean },
  ): Promise<void>
  /** Deletes the connection and its accounts. */
  delete(id: ConnectionId): Promise<void>
}

/**
 * People and their plans in the store. A deletion has two steps: `disarm`
 * marks the user, who is not found from then on, and `delete` removes the rows later.
 */

import type { UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export type PlanName = 'developer' | 'professional' | 'none'

export type PlanStatus = 'active' | 'trialing' | 'past_due' | 'canceled'

/** A subscription as the operator set it; `plan` null: never set, so `DEFAULT_PLAN` applies. */
export interface PlanRow {
  readonly plan: PlanName | null
  readonly status: PlanStatus
  /** Legacy cut-off; access ends 14 days after it (reading R25). */
  readonly legacyUntil: Millis | null
  readonly grandfathered: boolean
}

export interface UserRow extends PlanRow {
  readonly id: UserId
  /** The address as it was given, trimmed. It is compared case-insensitively. */
  readonly email: string
  /** The display name; null: never given. */
  readonly name: string | null
  /** IANA name; null: the default of the contract applies. */
  readonly timezone: string | null
  readonly createdAt: Millis
  /** When it was proven that mail to the address reaches them, or an operator vouched for it; null: never. */
  readonly emailConfirmedAt: Millis | null
  /** The page of money reads balances without a press. */
  readonly showsBalances: boolean
}

/** What a request needs to know about the user that it is of. */
export interface UserAccessRow extends PlanRow {
  readonly userId: UserId
  readonly timezone: string | null
  /** Grows with every change that invalidates cached answers of this user (reading R10). */
  readonly epoch: number
}

/** What operators see of a user beside the row. */
export interface UserStandingRow {
  readonly id: UserId
  /** When a browser that is signed in was last seen; null: none is. */
  readonly lastSeenAt: Millis | null
  readonly activeConnections: number
  /** Those whose consent is lost, or that wait for the person. */
  readonly brokenConnections: number
  /** An app or a passkey. */
  readonly hasSecondFactor: boolean
}

export interface NewUser extends PlanRow {
  readonly email: string
  readonly name?: string | null
  /** A PHC string; absent for users who only have API keys. */
  readonly passwordHash?: string | null
  readonly timezone: string | null
  readonly createdAt: Millis
  readonly emailConfirmedAt?: Millis | null
}

export interface UserStore {
  /** 'taken' when another user has the e-mail address. */
  create(user: NewUser): Promise<UserRow | 'taken'>
  /** Except users who are being deleted. */
  list(): Promise<readonly UserRow[]>
  /** By creation time, equal times by id; only those after `after`, at most `limit`. */
  listPage(page: {
    readonly after: { readonly createdAt: Millis; readonly id: UserId } | null
    readonly limit: number
  }): Promise<readonly UserRow[]>
  /** Those of these users, in no order; a user who is gone is left out. */
  listStandings(ids: readonly UserId[]): Promise<readonly UserStandingRow[]>
  /** By id or e-mail address. `deleting`: includes a user who is being deleted. */
  find(idOrEmail: string, options?: { readonly deleting?: boolean }): Promise<UserRow | null>
  /** Users whose deletion started before `before` and has not finished; the oldest first, at most `limit`. */
  listDeleting(page: {
    readonly before: Millis
    readonly limit: number
  }): Promise<readonly UserId[]>
  /** Plan, zone and epoch in one read; null when there is no such user. */
  findAccess(id: UserId): Promise<UserAccessRow | null>
  setPlan(id: UserId, plan: PlanRow): Promise<UserRow | null>
  /** Null: no name. */
  setName(id: UserId, name: string | null): Promise<UserRow | null>
  setShowsBalances(id: UserId, showsBalances: boolean): Promise<UserRow | null>
  /** Raises the user's epoch (reading R10). */
  setTimezone(id: UserId, timezone: string | null): Promise<UserRow | null>
  /** A time that is stored already stays. False when there is no such user. */
  confirmEmail(id: UserId, at: Millis): Promise<boolean>
  /** Raises the user's epoch, so that no earlier cached answer is served again (reading R10). */
  outdate(id: UserId): Promise<void>
  /**
   * Starts a deletion, in one transaction: it marks the user and removes all access in their name. Keys are
   * revoked; sessions, agents' grants, webhook endpoints and the password are deleted; connections become
   * `deleting`. From then on they are not found and nothing can be added to them. False when there is no such
   * user.
   */
  disarm(id: UserId, at: Millis): Promise<boolean>
  /**
   * As `disarm`, for a user whose address was never confirmed; another user may have the address at once.
   * False, with nothing changed, when it is confirmed, and when there is no such user.
   */
  disarmUnconfirmed(id: UserId, at: Millis): Promise<boolean>
  /** Deletes the user and all their rows; false when there was none. */
  delete(id: UserId): Promise<boolean>
}

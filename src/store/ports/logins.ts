/**
 * A person's credentials at a provider: sealed, with a version that grows whenever they are replaced, and
 * whenever consents behind them come or go.
 */

import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface LoginRow {
  readonly id: LoginId
  readonly userId: UserId
  readonly provider: Provider
  readonly upstreamUserId: string
  /** Decrypted with this process's encryption key; null when the login has none. */
  readonly secret: string | null
  /** Grows when credentials are saved and consents come or go, so that older results are recognised. */
  readonly version: number
  /** This installation made it for its person: it ends at the provider with its last connection. */
  readonly isOurs: boolean
}

/** A login whose secret is not opened. */
export type LoginRef = Omit<LoginRow, 'secret'>

export interface HeldLogin extends LoginRef {
  /** `startEnding` marked it, and it was not saved since, nor is a connection of it shown. */
  readonly isEnding: boolean
}

export interface NewLogin {
  readonly userId: UserId
  readonly provider: Provider
  readonly upstreamUserId: string
  readonly secret: string | null
  /** Only one user may have this login; absent: several may. */
  readonly isExclusive?: boolean
  /** It was made at the provider just now; absent: it existed there. Of a stored login it stays as it is. */
  readonly isOurs?: boolean
}

/** What identifies a login; it never changes. */
export type LoginName = Pick<LoginRow, 'userId' | 'provider' | 'upstreamUserId'>

export interface LoginStore {
  /**
   * Creates a login or replaces its secret, keyed by (user, provider, upstream user). Both count as a
   * reconnection: its version and the user's epoch grow in the same transaction (reading R10).
   * @throws OwnerGoneError; LoginTakenError for an `isExclusive` login that another user has as well.
   */
  save(login: NewLogin): Promise<LoginRow>
  /** @throws SealError when its secret does not open: the row was damaged or moved. */
  get(id: LoginId): Promise<LoginRow | null>
  /** @throws SealError when one of the secrets does not open. */
  list(userId: UserId): Promise<readonly LoginRow[]>
  /** In the order of `list`. Opens no secret, so that one damaged secret does not hide the other logins. */
  listIds(userId: UserId): Promise<readonly LoginId[]>
  /** Opens no secret. */
  find(id: LoginId): Promise<LoginRef | null>
  /** As `find`, held until the transaction ends. Null also for a user who is deleted. */
  hold(id: LoginId): Promise<HeldLogin | null>
  /**
   * The id of the login whose secret `save` would replace; null: it would create one. Until the transaction
   * ends nobody else saves a login of this user. @throws OwnerGoneError
   */
  holdNamed(name: LoginName): Promise<LoginId | null>
  /** Consents of the login came or went: its version grows, so that older lists are recognised. */
  noteConsents(id: LoginId): Promise<void>
  /**
   * Marks a login that nothing but the connection `but` uses, which is being removed, and whose end at the
   * provider is next; false: something does. A link that is stored under the lock of `hold` is seen here, or
   * sees the mark.
   */
  startEnding(
    id: LoginId,
    look: { readonly now: Millis; readonly but?: ConnectionId },
  ): Promise<boolean>
  /** Logins, by id, that no connection and no open link uses; only ids after `after`, at most `limit`. */
  listAbandoned(page: {
    readonly now: Millis
    readonly after: LoginId | null
    readonly limit: number
  }): Promise<readonly LoginRef[]>
  /** All users' logins as this person at the provider, by id; at most `limit`. Opens no secret. */
  listByUpstream(person: {
    readonly provider: Provider
    readonly upstreamUserId: string
    readonly limit: number
  }): Promise<readonly LoginRef[]>
  /**
   * Deletes a secret that no longer works, provided that it is still the one of this version: false when it
   * was replaced. Its version and the user's epoch grow, as with `save`.
   */
  forgetSecret(login: Pick<LoginRef, 'id' | 'version'>): Promise<boolean>
  /** Deletes the login and its secret, unless a connection uses it. */
  deleteUnused(id: LoginId): Promise<void>
}

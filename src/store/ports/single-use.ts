/**
 * Tokens of mailed links, each valid once: invitations, confirmations of an address, new passwords. The store
 * has their SHA-256 alone.
 */

import type { UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export type SingleUseKind = 'invitation' | 'confirmation' | 'reset'

export interface NewSingleUse {
  readonly kind: SingleUseKind
  /** SHA-256 of the token. */
  readonly hash: Uint8Array
  /** Null: an invitation, whose user does not exist yet. */
  readonly userId: UserId | null
  readonly email: string
  readonly createdAt: Millis
  readonly expiresAt: Millis
}

export interface SingleUseRow extends Omit<NewSingleUse, 'hash'> {
  readonly usedAt: Millis | null
  /** When a newer one of the same kind for the same address was made. */
  readonly replacedAt: Millis | null
}

export interface SingleUseStore {
  /**
   * Stores a token; older ones of its kind for the same address are replaced. False, with nothing changed,
   * when `limit` of them were made since `since`. Calls for one address run one after another. @throws
   * OwnerGoneError
   */
  create(
    token: NewSingleUse,
    bounds: { readonly since: Millis; readonly limit: number },
  ): Promise<boolean>
  /** Used, replaced and expired ones too, until they are swept. */
  find(kind: SingleUseKind, hash: Uint8Array): Promise<SingleUseRow | null>
  /** Uses a token up. Null when it is unknown, used, replaced or expired: one of two calls gets the row. */
  use(kind: SingleUseKind, hash: Uint8Array, at: Millis): Promise<SingleUseRow | null>
  /** Those that can be used at `now`, the newest first, at most `limit`. */
  listOpen(
    kind: SingleUseKind,
    page: { readonly now: Millis; readonly limit: number },
  ): Promise<readonly SingleUseRow[]>
  /** Ends those of an address that are not used yet, whatever its case; false when there was none. */
  withdraw(kind: SingleUseKind, email: string, now: Millis): Promise<boolean>
  /** Deletes those that expired before `before`, at most `limit`; returns how many. */
  sweep(bounds: { readonly before: Millis; readonly limit: number }): Promise<number>
}

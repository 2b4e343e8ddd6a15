/** API keys in the store: the hash, never the key itself. */

import type { ReachLimits } from '#contract/reach.ts'
import type { KeyId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { UserAccessRow } from './users.ts'

/** What limits a key (reading R43); null: no limit of this kind. */
export interface KeyLimits extends ReachLimits {
  /** Addresses and networks (CIDR) that requests may come from. */
  readonly addresses: readonly string[] | null
}

/** The limits of a key that sees everything. */
export const noLimits: KeyLimits = Object.freeze({
  scopes: null,
  connectionIds: null,
  accountIds: null,
  addresses: null,
})

export interface KeyRow extends KeyLimits {
  readonly id: KeyId
  readonly userId: UserId
  readonly name: string
  /** The first characters, safe to show, e.g. `trib_live_0CiOts`. */
  readonly prefix: string
  readonly createdAt: Millis
  readonly expiresAt: Millis | null
  readonly revokedAt: Millis | null
  readonly lastUsedAt: Millis | null
  /** Until when secrets from before its last rotation are good; null: there are none. */
  readonly formerUntil: Millis | null
}

/** Everything that a request needs to know about a key's owner; one indexed read. */
export interface CallerRow extends UserAccessRow {
  readonly keyId: KeyId
  /** The end of the key or, where that is earlier, of the secret from before a rotation. */
  readonly expiresAt: Millis | null
  /** Null: the key sees everything. */
  readonly limits: KeyLimits | null
}

export interface NewKey extends Partial<KeyLimits> {
  readonly userId: UserId
  readonly name: string
  readonly prefix: string
  /** SHA-256 of the whole key. */
  readonly hash: Uint8Array
  readonly createdAt: Millis
  readonly expiresAt: Millis | null
}

export interface KeyRotation {
  readonly id: KeyId
  /** The prefix of the new secret. */
  readonly prefix: string
  readonly hash: Uint8Array
  readonly at: Millis
  /** Until when former secrets are good, at the longest; not after `at`: they are not. */
  readonly formerUntil: Millis
}

/** The largest number of former secrets of one key; beyond it the oldest are deleted. */
export const maxFormerSecrets = 5

/** The largest number of revoked and expired keys that are kept for one user. */
export const maxEndedKeys = 200

export interface KeyStore {
  /** @throws OwnerGoneError */
  create(key: NewKey): Promise<KeyRow>
  /**
   * As `create`, but 'full' when the user already has `maxActive` keys that are neither revoked nor expired
   * at the creation time; concurrent calls cannot exceed it. Null when the user does not exist or is being
   * deleted. Beyond `maxEndedKeys` the oldest ended keys of the user are deleted.
   */
  createWithin(key: NewKey, maxActive: number): Promise<KeyRow | 'full' | null>
  list(userId: UserId): Promise<readonly KeyRow[]>
  /** Revoking again keeps the first time and says so; null: no such key. Concurrent calls: one is first. */
  revoke(id: KeyId, at: Millis): Promise<(KeyRow & { readonly wasRevoked: boolean }) | null>
  /** Gives the key a new secret. Null when there is no such key, and when it is revoked or has expired. */
  rotate(rotation: KeyRotation): Promise<KeyRow | null>
  /** Null when unknown or revoked; an expired key is returned, with its `expiresAt`. */
  findCaller(hash: Uint8Array): Promise<CallerRow | null>
  /** Stores the last use; called at most once a minute per key, after the request. */
  touch(id: KeyId, at: Millis): Promise<void>
}

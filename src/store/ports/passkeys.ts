/**
 * Passkeys in the store: public keys alone, so that whoever reads the store cannot sign in. A challenge that
 * was answered is remembered until it expires; of two answers to it, in one process or in two, one counts.
 */
import type { PasskeyId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface PasskeyRow {
  readonly id: PasskeyId
  readonly userId: UserId
  /** How the authenticator names it; no two passkeys share one. */
  readonly credentialId: Uint8Array
  /** As the authenticator gave it (COSE, RFC 9052). */
  readonly publicKey: Uint8Array
  /** As its owner calls it. */
  readonly name: string
  /** The authenticator's own count of its uses; 0: it counts none. */
  readonly signCount: number
  /** How browsers reach the authenticator, in their words. */
  readonly transports: readonly string[]
  readonly createdAt: Millis
  readonly lastUsedAt: Millis | null
}

/** The challenge that was answered, by its SHA-256. */
export interface AnsweredChallenge {
  readonly hash: Uint8Array
  readonly expiresAt: Millis
}

export interface NewPasskey extends Omit<PasskeyRow, 'id' | 'lastUsedAt'> {
  readonly challenge: AnsweredChallenge
  /** SHA-256 of recovery codes, stored when it is the user's first second factor. */
  readonly codeHashes: readonly Uint8Array[]
}

/** What a correct answer of a passkey uses up. */
export interface PasskeyUse {
  readonly passkeyId: PasskeyId
  /** The count that the answer had. */
  readonly signCount: number
  readonly challenge: AnsweredChallenge
}

export type StoredPasskey =
  /** `areCodesNew`: the recovery codes were stored too. */
  | { readonly kind: 'made'; readonly row: PasskeyRow; readonly areCodesNew: boolean }
  /** The user has `maxPasskeys`. */
  | { readonly kind: 'full' }
  /** There is a passkey with this id of the authenticator. */
  | { readonly kind: 'taken' }
  /** The challenge was answered before. */
  | { readonly kind: 'used' }

/** The largest number of passkeys of one user. */
export const maxPasskeys = 10

export interface PasskeyStore {
  /** The oldest first. */
  list(userId: UserId): Promise<readonly PasskeyRow[]>
  /** By the id of the authenticator. */
  find(credentialId: Uint8Array): Promise<PasskeyRow | null>
  /** @throws OwnerGoneError */
  create(passkey: NewPasskey): Promise<StoredPasskey>
  /**
   * False when the challenge was answered before, the passkey is gone, or its count has not grown: then the
   * caller undoes its transaction.
   */
  use(userId: UserId, use: PasskeyUse, at: Millis): Promise<boolean>
  /** Without another second factor the recovery codes end too. False: the user has no such passkey. */
  remove(userId: UserId, id: PasskeyId): Promise<boolean>
  /** Forgets challenges that have expired, a bounded number per call; returns how many. */
  sweepChallenges(now: Millis): Promise<number>
}

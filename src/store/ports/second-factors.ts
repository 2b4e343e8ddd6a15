/**
 * Second factors and recovery codes in the store: the secret of an authenticator app, beside the passkeys
 * (passkeys.ts). A row exists only after its first code was confirmed; the secret is sealed at rest, recovery
 * codes are SHA-256. Whoever consumes a code does so atomically: of two
 * who give the same code at the same time, in one process or in two, one is right.
 */

import type { UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface SecondFactorRow {
  readonly userId: UserId
  /** In plain text; never logged. */
  readonly secret: Uint8Array
  readonly createdAt: Millis
  /** The newest time step (RFC 6238 §4) whose code was accepted. */
  readonly lastStep: number
}

export interface SecondFactorStore {
  /** The app of the user; null when there is none. @throws SealError when the secret does not open. */
  find(userId: UserId): Promise<SecondFactorRow | null>
  /** True when the user has an app or a passkey: the password alone does not sign in. */
  has(userId: UserId): Promise<boolean>
  /** True when the user has an app; reads no secret. */
  hasApp(userId: UserId): Promise<boolean>
  /**
   * Stores an app whose code of `step` was confirmed, with recovery codes in place of all former ones. False,
   * with nothing stored, when the user has one. @throws OwnerGoneError
   */
  create(factor: {
    readonly userId: UserId
    readonly secret: Uint8Array
    readonly at: Millis
    readonly step: number
    readonly codeHashes: readonly Uint8Array[]
  }): Promise<boolean>
  /**
   * False when this step or a later one was used before, or when the factor of `createdAt` is there no more.
   */
  useStep(
    userId: UserId,
    code: { readonly createdAt: Millis; readonly step: number },
  ): Promise<boolean>
  /** Replaces all recovery codes, used ones too. False when the user has no second factor. */
  replaceCodes(userId: UserId, codeHashes: readonly Uint8Array[]): Promise<boolean>
  /** True when the code exists and was not used. */
  hasCode(userId: UserId, codeHash: Uint8Array): Promise<boolean>
  /** False when there is no such code or it was used before. */
  useCode(userId: UserId, codeHash: Uint8Array, at: Millis): Promise<boolean>
  /** The number of recovery codes that were not used. */
  countCodes(userId: UserId): Promise<number>
  /** Removes the app; without a passkey the recovery codes end too. False when there was none. */
  removeApp(userId: UserId): Promise<boolean>
  /** Removes the app, all passkeys and the recovery codes; false when there was none. */
  delete(userId: UserId): Promise<boolean>
}

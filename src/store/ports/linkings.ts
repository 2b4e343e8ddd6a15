/**
 * Links that people began in a browser and that come back from a provider's page: one row per begun link,
 * found by the SHA-256 of its state and used once.
 */

import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, SessionId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

/** The largest number of a user's links under way, and of ended ones; beyond it the oldest are deleted. */
export const maxLinkings = 20

export interface NewLinking {
  /** SHA-256 of the state. */
  readonly id: Uint8Array
  readonly userId: UserId
  /** The session of the browser that began it. */
  readonly sessionId: SessionId
  readonly provider: Provider
  /** Null: the return brings the login. */
  readonly loginId: LoginId | null
  /** Null: chosen on the provider's page. */
  readonly institutionId: string | null
  /** The connection that is to be renewed; null: a new one. */
  readonly connectionId: ConnectionId | null
  readonly createdAt: Millis
  readonly expiresAt: Millis
}

export interface LinkingEnd {
  readonly at: Millis
  readonly outcome: string
}

export interface LinkingRow extends NewLinking {
  /** When its state came back. */
  readonly usedAt: Millis | null
  /** When its consent was read, or certain to be none. Until then the consent may still arrive. */
  readonly endedAt: Millis | null
  /** How far it has come, or how it ended. Null: not read yet, or written by a version without outcomes. */
  readonly outcome: string | null
}

export interface LinkingStore {
  /**
   * Beyond `maxLinkings` those of the user that end first are deleted: of the links under way, and of those
   * that have ended. With `end` it has ended from the beginning. @throws OwnerGoneError
   */
  create(linking: NewLinking, end?: LinkingEnd): Promise<LinkingRow>
  find(id: Uint8Array): Promise<LinkingRow | null>
  /**
   * Uses the state, once: false when it was used before, has expired, or belongs to another session. Of
   * several processes that call it at the same time one gets true.
   */
  claim(
    id: Uint8Array,
    by: { readonly sessionId: SessionId; readonly at: Millis },
  ): Promise<boolean>
  /** Records the login that a return brought. */
  setLogin(id: Uint8Array, loginId: LoginId): Promise<void>
  /** The newest one of this login that has neither ended nor expired; null: none. */
  findOpen(loginId: LoginId, at: Millis): Promise<LinkingRow | null>
  /** Records how far it has come, until it has ended. */
  note(id: Uint8Array, outcome: string): Promise<void>
  /** Records the end; a second one changes nothing. */
  end(id: Uint8Array, end: LinkingEnd): Promise<void>
  /** Deletes it: what it stood for did not happen. */
  forget(id: Uint8Array): Promise<void>
  /** Gives what one session of a user began to another session of the same user. */
  moveSession(userId: UserId, from: SessionId, to: SessionId): Promise<void>
  /** Deletes a bounded number of those that expired before `at`; returns how many. */
  sweep(at: Millis): Promise<number>
}

/**
 * What sign-in needs of the durable store: browser sessions and password hashes. Instants are milliseconds
 * since the epoch. Callers decide with their clock which session is still valid.
 */

import type { SessionId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface SessionRow {
  readonly id: SessionId
  readonly userId: UserId
  readonly createdAt: Millis
  /** When the password was last entered; sensitive actions require a recent time. */
  readonly signedInAt: Millis
  readonly lastSeenAt: Millis
  /** The network address of the sign-in; null: unknown. */
  readonly address: string | null
  /** What the browser calls itself (`User-Agent`), bounded; null: nothing, or the session is older. */
  readonly agent: string | null
}

/** The largest number of sessions per user. */
export const maxSessions = 100

export interface SessionStore {
  /**
   * Null, with nothing stored, when the user's password is no longer the one that was checked. The check and
   * the insert are one transaction that locks the user's row, so that no session survives a change of the
   * password. Beyond `maxSessions` the user's least recently used sessions are deleted.
   */
  create(session: {
    readonly userId: UserId
    /** SHA-256 of the cookie. */
    readonly hash: Uint8Array
    readonly at: Millis
    /** The PHC string that the given password was checked against. */
    readonly passwordHash: string
    readonly address?: string | null
    readonly agent?: string | null
  }): Promise<SessionRow | null>
  find(hash: Uint8Array): Promise<SessionRow | null>
  /** The sessions of a user, the last seen first; at most `maxSessions`. */
  list(userId: UserId): Promise<readonly SessionRow[]>
  /** The time never moves back. */
  touch(id: SessionId, at: Millis): Promise<void>
  /** False when the session is not this user's. */
  delete(userId: UserId, id: SessionId): Promise<boolean>
  /** Ends all sessions of the user but one; returns how many. */
  deleteOthers(userId: UserId, kept: SessionId): Promise<number>
  /** Deletes a bounded number of sessions older than either bound; returns how many. */
  sweep(bounds: { readonly seenBefore: Millis; readonly createdBefore: Millis }): Promise<number>
  /**
   * Stores a PHC string, or null to remove the password. Ends every session of the user; false when the user
   * does not exist or is being deleted, or when `checked` is given and is no longer the user's password: then
   * nothing changes.
   */
  setPassword(userId: UserId, hash: string | null, checked?: string): Promise<boolean>
  /** Null when the user has none, or does not exist. */
  findPassword(userId: UserId): Promise<string | null>
}

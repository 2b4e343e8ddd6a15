/**
 * What signing in asks of the durable store: the browsers in which somebody is signed in, and the hashes of passwords.
 * Instants are milliseconds since the epoch. Which session is still good is judged by whoever holds the clock.
 */
import type { SessionId, UserId } from '#kernel/ids.ts'

export interface SessionRow {
  readonly id: SessionId
  readonly userId: UserId
  readonly createdAt: number
  /** When the password was last given: fresh enough for what must not be done with a borrowed browser. */
  readonly signedInAt: number
  readonly lastSeenAt: number
}

export interface SessionStore {
  create(session: {
    readonly userId: UserId
    /** SHA-256 of the cookie. */
    readonly hash: Uint8Array
    readonly at: number
  }): Promise<SessionRow>
  find(hash: Uint8Array): Promise<SessionRow | null>
  /** Only ever forward in time. */
  touch(id: SessionId, at: number): Promise<void>
  /** False when it is not this user's. */
  delete(userId: UserId, id: SessionId): Promise<boolean>
  deleteAll(userId: UserId): Promise<void>
  /** Deletes a bounded number of sessions that are older than either bound; tells how many. */
  sweep(bounds: { readonly seenBefore: number; readonly createdBefore: number }): Promise<number>
  /** A PHC string, or null to take the password away; false when there is no such user. */
  setPassword(userId: UserId, hash: string | null): Promise<boolean>
  /** Null when there is none, or no such user. */
  findPassword(userId: UserId): Promise<string | null>
}

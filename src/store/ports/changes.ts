/** Notifications of the store: a user's rows changed, or work became due. */
import type { UserId } from '#kernel/ids.ts'

/**
 * A user's rows changed: every process must drop what it has cached for this user. `userId` null:
 * notifications may have been missed (the connection to the database was lost), so drop what is cached for
 * every user.
 */
export interface StoreChange {
  readonly userId: UserId | null
}

/** How long a process may take a user's rows for current after it read them, unless it hears of a change. */
export const rowTrustMs = 1000

/**
 * Called in the transaction of each such change, right before its commit; the returned function is called
 * once the transaction has ended, however it ended, and the change is acknowledged only after that: from then
 * on no process takes the rows of before for current. Neither rejects.
 */
export type BeginChange = (users: ReadonlySet<UserId>) => Promise<() => Promise<void>>

/** A sync, an event about a connection, deliveries of an endpoint, or a mail. */
export type WorkKind = 'sync' | 'connection-event' | 'delivery' | 'mail'

/** Notifications of the store: a user's rows changed, or work became due. */
import type { UserId } from '#kernel/ids.ts'

/**
 * A user's rows changed: every process must drop what it has cached for this user. `userId` null: notifications may
 * have been missed (the connection to the database was lost), so drop what is cached for every user.
 */
export interface StoreChange {
  readonly userId: UserId | null
}

/** A sync, deliveries of an endpoint, or a mail. */
export type WorkKind = 'sync' | 'delivery' | 'mail'

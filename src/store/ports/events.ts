/**
 * Accepted events. Each payload is sealed under its own key, which is stored separately (another schema in
 * PostgreSQL, a second file beside SQLite): destroying the key destroys the payload in every backup without
 * the keys. A receipt of the event stays.
 */

import type { EventType } from '#contract/events.ts'
import type {
  ConnectionId,
  DeliveryId,
  EndpointId,
  EventId,
  SyncRunId,
  UserId,
} from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface NewEvent {
  readonly id: EventId
  readonly userId: UserId
  /** Null: a test event. */
  readonly connectionId: ConnectionId | null
  readonly runId: SyncRunId | null
  readonly type: EventType
  readonly chunk: number
  readonly totalChunks: number
  /** The whole run found nothing new and nothing updated. */
  readonly isEmpty: boolean
  /** Only endpoints that ask for pending rows take it, or only the others; null or absent: all do. */
  readonly hasPending?: boolean | null
  readonly createdAt: Millis
  /** The envelope exactly as sent: UTF-8 JSON. */
  readonly body: Uint8Array
}

/** An event with a sealed payload and a stored key. Only the store creates and reads it. */
export interface SealedEvent extends Omit<NewEvent, 'body'> {
  readonly size: number
  readonly payload: Uint8Array
  /** Keyed hash of the body: the receipt's proof of what was sent. */
  readonly bodyMac: Uint8Array
}

export interface EventRow extends Omit<NewEvent, 'body'> {
  /** Size of the body in bytes. */
  readonly size: number
  /** When the payload was destroyed; null: it can still be decrypted. */
  readonly shreddedAt: Millis | null
}

export interface EventBacklog {
  /** Events whose payload is not shredded. */
  readonly events: number
  readonly bytes: number
}

/** What a transaction can do with events. */
export interface EventRows {
  /**
   * Stores the events, all of one user, and creates one delivery for each endpoint of the user that takes
   * their type, in order (none for an empty run where the endpoint skips those; `missed` where it is
   * disabled). `only`: for this endpoint alone, whatever types it takes (test events). Returns the number of
   * deliveries. Without `only` they are also at the end of the user's feed, if there is one (`consumers.ts`).
   * Events count as accepted at their `createdAt`. It locks the user's row, so a transaction calls it before
   * `SyncStore.finish`.
   * @throws OwnerGoneError
   */
  accept(events: readonly SealedEvent[], only?: EndpointId): Promise<number>
  find(id: EventId): Promise<EventRow | null>
}

/** A payload that was read with its key, and is not decrypted yet: it is compressed. */
export interface SealedBody {
  /** The body. @throws SealError */
  open(): Promise<Uint8Array>
  /** An answer to it, sealed under its key for an attempt of this number. @throws SealError */
  sealResponse(
    attempt: { readonly deliveryId: DeliveryId; readonly number: number },
    response: Uint8Array,
  ): Uint8Array
}

/** The rest uses the separate store of the keys too, so it is not available inside a transaction. */
export interface EventStore extends EventRows {
  /** Compresses and seals, a few events at a time; every key is durable when this resolves. */
  seal(events: Iterable<NewEvent>): Promise<readonly SealedEvent[]>
  /**
   * The body; null when it is shredded, its key is missing (a restored backup), or there is no such event.
   */
  open(id: EventId): Promise<Uint8Array | null>
  /** As `open`, of several events; what `open` would not find is left out. */
  readBodies(ids: readonly EventId[]): Promise<ReadonlyMap<EventId, SealedBody>>
  /**
   * Destroys the keys, then the payloads, of events accepted before `acceptedBefore` without a pending
   * delivery; at most `limit` and at most 500 per call. Events that a consumer has not acknowledged stay
   * until they were accepted before `unreadBefore`; absent: they are treated like others. Returns how many.
   * Also completes what an earlier call left incomplete.
   */
  shred(options: {
    readonly acceptedBefore: Millis
    readonly unreadBefore?: Millis
    readonly now: Millis
    readonly limit: number
  }): Promise<number>
  /**
   * Destroys keys made before `before` whose event was never accepted, or was deleted with its user; about
   * `limit` per call. An event whose key was swept cannot be accepted any more, so `before` must be longer
   * ago than a run can take.
   */
  sweepKeys(options: { readonly before: Millis; readonly limit: number }): Promise<number>
  /** Deletes receipts, with deliveries and attempts, of events shredded and accepted before `before`. */
  sweepReceipts(options: { readonly before: Millis; readonly limit: number }): Promise<number>
  /**
   * Deletes at most `limit` events of a user who is being deleted, with their deliveries; returns how many.
   * `sweepKeys` destroys their keys.
   */
  deleteOf(userId: UserId, limit: number): Promise<number>
  readBacklog(): Promise<EventBacklog>
}

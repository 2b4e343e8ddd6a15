/**
 * Consumers of events (reading R42): who fetches a user's events by name, without an address. Each user with
 * consumers has one feed, in which every accepted event has a position; a consumer is how far it has
 * acknowledged the feed.
 */
import type { EventType } from '#contract/events.ts'
import type { ConnectionId, ConsumerId, EventId, FeedId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

export interface ConsumerRow {
  readonly id: ConsumerId
  readonly userId: UserId
  /** Unique among the user's consumers. */
  readonly name: string
  /** The position up to which it has what it asked for. */
  readonly acknowledged: number
  readonly createdAt: Millis
  /** When it last asked, to the minute. */
  readonly askedAt: Millis
}

/** A user's feed. */
export interface FeedRow {
  /** Another one after the ledger has ended, and once a cursor shows that the store was restored. */
  readonly id: FeedId
  /** The position of its newest event. */
  readonly lastPosition: number
}

export interface ConsumerState {
  readonly consumer: ConsumerRow
  readonly feed: FeedRow
}

/** An event of a feed, without its body. */
export interface FeedEventRow {
  readonly id: EventId
  readonly position: number
  readonly type: EventType
  readonly connectionId: ConnectionId | null
  /** The length of the body in bytes. */
  readonly size: number
  /** False: its payload is destroyed, or is being destroyed. */
  readonly isKept: boolean
}

export interface NewConsumer {
  readonly userId: UserId
  readonly name: string
  readonly createdAt: Millis
}

/** The largest numbers of a user's consumers. */
export interface ConsumerBounds {
  /** How many may see the same (reading R43). */
  readonly ofSight: number
  /** How many there may be, whatever they see. */
  readonly inAll: number
}

export interface ConsumerStore {
  /** Sees committed data only. */
  find(userId: UserId, name: string): Promise<ConsumerState | null>
  get(id: ConsumerId): Promise<ConsumerRow | null>
  /** Null: the user never had a consumer. */
  findFeed(userId: UserId): Promise<FeedRow | null>
  /**
   * Gives the user's feed another id, where it still has this one: cursors of before are not valid in it. Its
   * positions and consumers stay.
   */
  renewFeed(userId: UserId, id: FeedId): Promise<void>
  /**
   * Creates it at the end of the feed, and the feed with the user's first one. An existing one of this name
   * is returned as it is. Otherwise it says which of the bounds the user has reached.
   * @throws OwnerGoneError
   */
  create(
    consumer: NewConsumer,
    bounds: ConsumerBounds,
  ): Promise<ConsumerState | 'too_many_of_sight' | 'too_many'>
  /** Oldest first, with the number of kept events that each has not acknowledged. */
  list(userId: UserId): Promise<readonly (ConsumerRow & { readonly waiting: number })[]>
  count(userId: UserId): Promise<number>
  /** What was acknowledged before stays acknowledged. */
  acknowledge(id: ConsumerId, acknowledged: { position: number; at: Millis }): Promise<void>
  delete(id: ConsumerId): Promise<void>
  /** The events after this position in their order, also those that are not kept. */
  listAfter(userId: UserId, position: number, limit: number): Promise<readonly FeedEventRow[]>
  /** The position of the first kept event after this one; null: there is none. */
  findKept(userId: UserId, position: number): Promise<number | null>
}

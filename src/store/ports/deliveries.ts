/**
 * Deliveries: one event for one endpoint, with its attempts. Work is claimed per endpoint: only the holder of
 * an endpoint's lease sends to it, so that order, the number in flight and the endpoint's health have one
 * writer. Deliveries of one lane (a connection at an endpoint) run one after another: only the first pending
 * one is ever due.
 */

import type { EventType } from '#contract/events.ts'
import type { DeliveryId, EndpointId, EventId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { EndpointRow, EndpointSecrets, HealthChange } from './endpoints.ts'
import type { SealedBody } from './events.ts'
import type { WaitLimits } from './waits.ts'

/** `missed`: the endpoint was disabled. `exhausted`: every attempt failed, or the receiver wants no more. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'exhausted' | 'missed'

/** An endpoint as its holder needs it. */
export interface EndpointState {
  readonly endpoint: EndpointRow
  /** Null: they cannot be decrypted (damaged, or the key is missing); others are not affected. */
  readonly secrets: EndpointSecrets | null
}

/** An endpoint with due deliveries, leased by this process until `leaseUntil`. */
export interface ClaimedEndpoint extends EndpointState {
  readonly lease: string
  readonly leaseUntil: Millis
}

export interface DueDelivery {
  readonly id: DeliveryId
  readonly eventId: EventId
  /** Attempts made so far. */
  readonly attempts: number
  readonly dueAt: Millis
  readonly createdAt: Millis
  /** Replayed on request, outside a sync run (reading R33). */
  readonly isReplay: boolean
  /** Its event belongs to no run; it is attempted at once, whatever the endpoint's health. */
  readonly isTest: boolean
}

export interface NewAttempt {
  readonly at: Millis
  /** HTTP status; null: there was no answer. */
  readonly status: number | null
  /** Why there was no answer, or why the answer counts as a failure, in plain words; null: it succeeded. */
  readonly failure: string | null
  readonly durationMs: number
  /**
   * The first KiB of the answer, redacted. It may repeat the payload, so it is sealed under the event's key.
   */
  readonly response: Uint8Array | null
}

export type DeliveryDecision =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'retry'; readonly dueAt: Millis }
  | { readonly kind: 'exhausted' }

/** One attempt under a lease, and what follows from it. */
export interface AttemptResult {
  readonly lease: string
  readonly deliveryId: DeliveryId
  readonly attempt: NewAttempt
  /** What was sent: its key seals the response. Absent: the key is read again. */
  readonly body?: SealedBody | undefined
  readonly decision: DeliveryDecision
  /**
   * Only tests of the endpoint are due before this instant, also after the lease was lost; it ends when the
   * endpoint becomes healthy. Null: no wait was demanded.
   */
  readonly holdUntil: Millis | null
  /** Called in the transaction with the endpoint's current state, possibly more than once. */
  readonly health: (now: EndpointRow) => HealthChange
}

/** The endpoint after an attempt was stored. */
export interface RecordedState extends EndpointState {
  /**
   * What the delivery is now: `missed` where the endpoint was disabled before the attempt was stored, and it
   * failed.
   */
  readonly status: DeliveryStatus
  /** The next delivery of the lane, which became due because this one ended; null: none did. */
  readonly next: DueDelivery | null
}

export interface AttemptRow extends Omit<NewAttempt, 'response'> {
  /** Null: there was none, or it was shredded with the payload. */
  readonly response: string | null
}

export interface DeliveryRow {
  readonly id: DeliveryId
  readonly eventId: EventId
  readonly endpointId: EndpointId
  readonly userId: UserId
  /**
   * Its number at the endpoint, in the order of creation: the place in the list, also once the row is gone.
   */
  readonly position: number
  readonly status: DeliveryStatus
  /** The type of its event. */
  readonly type: EventType
  readonly isReplay: boolean
  readonly isTest: boolean
  readonly createdAt: Millis
  /** When the next attempt is due; null: none is, or an earlier delivery of the lane must end first. */
  readonly dueAt: Millis | null
  /** Oldest first. */
  readonly attempts: readonly AttemptRow[]
}

/** An attempt without what was sent and answered. */
export interface AttemptSeenRow {
  readonly at: Millis
  readonly isFailed: boolean
  readonly durationMs: number
}

export interface DeliveryBacklog {
  readonly pending: number
  /** Due time of the oldest due delivery whose endpoint is not leased; null: none. */
  readonly oldestDueAt: Millis | null
}

export interface DeliveryPage {
  readonly after: number | null
  readonly limit: number
  /** Only those with one of these; absent: all. A search looks at the endpoint's newest 5,000 deliveries. */
  readonly states?: readonly DeliveryStatus[]
  /** Only those that were created from then on; absent: all. Searched as above. */
  readonly since?: Millis
}

export interface DeliveryStore {
  /**
   * Leases at most `limit` endpoints with a due delivery. First come those that have waited longest, since
   * they became due or, where more was due when they were released, since then: endpoints with much to send
   * take turns with the others. `unhealthy`: only degraded or paused ones, otherwise only healthy ones, so
   * that neither kind can take all the places of the other.
   */
  claimEndpoints(options: {
    readonly now: Millis
    readonly leaseMs: number
    readonly limit: number
    readonly unhealthy: boolean
  }): Promise<readonly ClaimedEndpoint[]>
  /** False: the lease is lost, and nothing more may be sent. */
  renew(lease: string, leaseUntil: Millis): Promise<boolean>
  /** The endpoint's due deliveries in order of creation; `tests`, or while it waits: tests only. */
  listDue(
    endpointId: EndpointId,
    options: { readonly now: Millis; readonly limit: number; readonly tests?: boolean },
  ): Promise<readonly DueDelivery[]>
  /**
   * The pending delivery that was created first, due or not, except tests: the probe of a paused endpoint.
   */
  findOldest(endpointId: EndpointId): Promise<DueDelivery | null>
  /**
   * Stores attempts, their consequences and the health of their endpoints in one transaction, as if one after
   * another; at most some hundred, of any endpoints. When a delivery has ended, the next one of its lane
   * becomes due. When an endpoint becomes disabled, its pending deliveries become `missed`. Returns the state
   * of the endpoint after each; null: its lease is lost or the delivery was deleted, and nothing of it was
   * stored.
   */
  record(results: readonly AttemptResult[]): Promise<readonly (RecordedState | null)[]>
  /**
   * Releases the endpoint. It becomes due with its next delivery but waits until `notBefore`, even when
   * deliveries are accepted or replayed meanwhile; tests are exempt. An earlier, longer wait stays; it ends
   * when the endpoint becomes healthy. `ofUnhealthy`: the wait is that of a degraded or paused endpoint, and
   * there is none if its owner has made it healthy meanwhile.
   */
  release(
    lease: string,
    options: { readonly now: Millis; readonly notBefore: Millis; readonly ofUnhealthy?: boolean },
  ): Promise<void>
  /** Newest first; only those after the position `after`, at most `limit`. */
  list(endpointId: EndpointId, page: DeliveryPage): Promise<readonly DeliveryRow[]>
  find(id: DeliveryId): Promise<DeliveryRow | null>
  /**
   * How many deliveries each endpoint of a user has that were created from `since` on, whatever became of
   * them; at most `limit` for each, which is then how many there are or more.
   */
  count(
    userId: UserId,
    range: { readonly since: Millis; readonly limit: number },
  ): Promise<ReadonlyMap<EndpointId, number>>
  /**
   * The attempts from `since` on, of the endpoint's newest `limit` deliveries; in no order. `isCut`: there
   * are older deliveries.
   */
  listAttempts(
    endpointId: EndpointId,
    range: { readonly since: Millis; readonly limit: number },
  ): Promise<{ readonly attempts: readonly AttemptSeenRow[]; readonly isCut: boolean }>
  /**
   * Creates a due delivery in a lane of its own (`missed` where disabled). Three replays of an event are kept
   * there: the oldest that has ended is deleted. Where three are pending none is created, and the newest of
   * them is returned. Null: the payload is shredded.
   */
  replay(id: DeliveryId, at: Millis): Promise<DeliveryId | null>
  /**
   * Replays, as above, every event of a connection that was accepted from `from` until before `to` and that
   * the endpoint takes, whatever its former deliveries, in order; all or nothing. `shredded`: the number of
   * events without a payload; `isTooMany`: with the replays that are pending there they are more than
   * `limit`. Then nothing is sent.
   */
  replayRange(
    endpointId: EndpointId,
    range: {
      readonly from: Millis
      readonly to: Millis
      readonly at: Millis
      readonly limit: number
    },
  ): Promise<{
    readonly replayed: number
    readonly shredded: number
    readonly isTooMany: boolean
  }>
  /**
   * Applies the limits to due times, leases and the waits of `release`; returns the number of endpoints that
   * were changed. A delivery that was never attempted is due at its creation, so `leaseMs` limits it too. Not
   * inside a transaction.
   */
  shortenWaits(limits: WaitLimits): Promise<number>
  /**
   * Completes what was left when an endpoint with very many pending deliveries was disabled: they are missed
   * and not sent, but count as pending in the backlog and keep their payloads. At most `limit` rows; returns
   * 0 when nothing is left.
   */
  missLeft(options: { readonly limit: number }): Promise<number>
  /**
   * Deletes deliveries that have ended, except the newest `keep` (5,000) deliveries, in batches: before the
   * endpoint is deleted, because one statement for all may take longer than a statement may. Not inside a
   * transaction.
   */
  deleteEnded(endpointId: EndpointId, keep?: number): Promise<void>
  readBacklog(now: Millis): Promise<DeliveryBacklog>
}

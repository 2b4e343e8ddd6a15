/** Webhook endpoints: where a user receives events, their secrets and health. Others' are not found. */

import type { EventType } from '#contract/events.ts'
import type { EndpointId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

/** `degraded`: one attempt failed. `paused`: five failed; the oldest is tried. `disabled`: nothing is. */
export type EndpointHealth = 'healthy' | 'degraded' | 'paused' | 'disabled'

/** Disabled by the owner or an operator; because it answered 410; after five days with failures only. */
export type DisabledReason = 'owner' | 'gone' | 'failing'

export interface EndpointRow {
  readonly id: EndpointId
  readonly userId: UserId
  /** Sealed at rest. Empty: it cannot be decrypted, and nothing can be sent. */
  readonly url: string
  /** There is at least one. */
  readonly events: readonly EventType[]
  /** Events without a new or updated row are not sent (reading R32). */
  readonly skipEmpty: boolean
  /** Events of banks have pending rows, too (reading R39). */
  readonly pending: boolean
  readonly health: EndpointHealth
  /** Failed attempts since the last success. */
  readonly failures: number
  /** The start of the time in which all attempts have failed. */
  readonly failingSince: Millis | null
  /** The number of days with failures only that the owner was last warned about: 0, 1, 3 or 5. */
  readonly warnedDays: number
  readonly disabledReason: DisabledReason | null
  readonly createdAt: Millis
}

/** Each has the form `whsec_…`. */
export interface EndpointSecrets {
  readonly current: string
  /** Until then it is used for signatures as well. */
  readonly previous: { readonly secret: string; readonly until: Millis } | null
}

export interface NewEndpoint {
  readonly userId: UserId
  readonly url: string
  readonly events: readonly EventType[]
  readonly skipEmpty: boolean
  /** Absent: no. */
  readonly pending?: boolean
  readonly secret: string
  readonly createdAt: Millis
}

export type HealthChange = Pick<
  EndpointRow,
  'health' | 'failures' | 'failingSince' | 'warnedDays' | 'disabledReason'
>

export interface EndpointStore {
  /** `too_many`: the user already has `limit` endpoints. @throws OwnerGoneError */
  create(endpoint: NewEndpoint, limit: number): Promise<EndpointRow | 'too_many'>
  /** Oldest first. */
  list(userId: UserId): Promise<readonly EndpointRow[]>
  /** For operators: of any user. */
  find(id: EndpointId): Promise<EndpointRow | null>
  readSecrets(id: EndpointId): Promise<EndpointSecrets | null>
  /**
   * The previous secret is also used for signatures until `previousUntil`; null: it stops at once. Then the
   * endpoint's lease ends too, because its holder would continue to sign with the previous secret. Returns
   * until when it is used; null also where it cannot be decrypted.
   */
  rotate(id: EndpointId, secret: string, previousUntil: Millis | null): Promise<Millis | null>
  /**
   * When an endpoint is disabled its pending deliveries become `missed`; when it becomes healthy they wait
   * only until due. The lease stays: its holder gets the change with the next `record`.
   */
  setHealth(id: EndpointId, change: HealthChange): Promise<void>
  /** Deletes its deliveries and attempts too. */
  delete(id: EndpointId): Promise<void>
  countByHealth(): Promise<Readonly<Record<EndpointHealth, number>>>
}

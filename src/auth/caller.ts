/**
 * Whoever makes a request, once identified: the one value that all later steps and resources get. It is the same for
 * REST and for agents.
 */
import type { UserId } from '#kernel/ids.ts'
import type { PlanRow } from '#store/port.ts'
import type { Scope } from './scopes.ts'

export interface Caller {
  readonly userId: UserId
  /** Whose windows and places are counted: the key, or the grant of a user to an agent. */
  readonly bucketId: string
  /** IANA zone of the user, or the contract's default. */
  readonly timezone: string
  readonly plan: PlanRow
  /** What was granted; an API key has every scope. */
  readonly scopes: readonly Scope[]
  /** Part of every cache key: grows when cached answers of this user become worthless (reading R10). */
  readonly epoch: number
}

/** Specification, Transaction.date: the zone of a user who has none set. */
export const defaultTimezone = 'Australia/Sydney'

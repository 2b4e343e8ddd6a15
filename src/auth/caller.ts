/**
 * The caller: who makes a request, once identified. All later steps and resources get this one value, for
 * REST and for agents alike.
 */

import { type Reach, type ReachLimits, toReach } from '#contract/reach.ts'
import type { UserId } from '#kernel/ids.ts'
import { knownZone } from '#kernel/time.ts'
import type { PlanRow, UserAccessRow } from '#store/ports/users.ts'
import { allScopes, type Scope } from './scopes.ts'

export interface Caller {
  readonly userId: UserId
  /** What limits and in-flight places are counted under: the API key, or the grant of a user to an agent. */
  readonly bucketId: string
  /** IANA time zone of the user, or the contract's default. */
  readonly timezone: string
  readonly plan: PlanRow
  /** Granted scopes; an API key has every scope. */
  readonly scopes: readonly Scope[]
  /** Part of every cache key. Incrementing it invalidates the cached replies of this user (reading R10). */
  readonly epoch: number
  /**
   * What fast state said of the user's rows before plan, zone and epoch were read (`src/fast/port.ts`);
   * empty: nothing. Absent: they were read for this request alone.
   */
  readonly edition?: string
  /** What a narrow key or agent may see (reading R43); absent: everything. */
  readonly reach?: Reach
}

/** What a person's own reads on the pages are limited and counted under; no key has this id. */
export const ownBucket = 'dashboard'

/** What the requests of an agent are limited and counted under, however many tokens it has (reading R28). */
export const toGrantBucket = (grantId: string) => `grant:${grantId}`

/** Used when a user has set no time zone (contract, Transaction). */
export const defaultTimezone = 'Australia/Sydney'

/** A user's time zone: what is stored, or the default where that is nothing or no zone of this runtime. */
export const timezoneOf = (stored: string | null): string => knownZone(stored) ?? defaultTimezone

/** What a caller has that is not the user's: an API key has every scope, and most have no limits. */
interface Presented {
  readonly bucketId: string
  readonly scopes?: readonly Scope[]
  readonly limits?: ReachLimits | null
}

export function toCaller(
  row: UserAccessRow,
  { bucketId, scopes = allScopes, limits = null }: Presented,
): Caller {
  const { userId, epoch, plan, status, legacyUntil, grandfathered } = row
  const reach = limits && toReach(limits)
  return {
    ...{ userId, bucketId, scopes, epoch },
    timezone: timezoneOf(row.timezone),
    plan: { plan, status, legacyUntil, grandfathered },
    ...(reach === null ? {} : { reach }),
  }
}

/** Assembles the report of counted requests and of limits, for the pages and for the admin API. */
import type { Agents } from '#auth/oauth/port.ts'
import { makeReadLimits, type ReadLimits } from '#gate/limits-left.ts'
import { makeReadUsage, type ReadUsage } from '#gate/usage-report.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Foundation } from './foundation.ts'
import type { AppOptions } from './options.ts'
import { toGateLimits } from './reads.ts'

/** @param settle writes what this process has counted of a user; null: this process counts nothing. */
export function makeAppUsage(
  { store, clock, reports }: Pick<AppOptions & Foundation, 'store' | 'clock' | 'reports'>,
  settle: ((userId: UserId) => Promise<void>) | null,
): ReadUsage {
  const onFailure = (error: unknown) => reports.backgroundFailure('usage-flush', error)
  return makeReadUsage({ store, clock, settle, onFailure })
}

export function makeAppLimits(parts: AppOptions & Foundation, agents: Agents): ReadLimits {
  return makeReadLimits({ ...parts, agents, limits: toGateLimits(parts.config) })
}

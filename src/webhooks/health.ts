/**
 * How well an endpoint does, judged by its attempts alone: healthy, degraded after a failure, paused after five in a row,
 * disabled after five days of failures or when it says that it is gone (docs/events.md, Health). Pure.
 */
import { unreachable } from '#kernel/unreachable.ts'
import type { EndpointRow, HealthChange } from '#store/ports/endpoints.ts'

/**
 * What an attempt says about the endpoint. `answered`: it is there, and asked for no more attempts of this one delivery.
 * `gone`: it answered 410.
 */
export type Sign = 'succeeded' | 'failed' | 'answered' | 'gone'

export const failuresUntilPaused = 5
const msPerDay = 86_400_000
/** The owner is told after so many days of failures alone; after the last of them the endpoint is disabled. */
export const warningDays = [1, 3, 5] as const
const daysUntilDisabled = 5

export const wellAgain: HealthChange = {
  health: 'healthy',
  failures: 0,
  failingSince: null,
  warnedDays: 0,
  disabledReason: null,
}

/** The endpoint's health after an attempt that ended at `at` (milliseconds since the epoch). */
export function nextHealth(now: HealthChange, sign: Sign, at: number): HealthChange {
  // Disabled by its owner while the attempt was under way: only its owner enables it.
  if (now.health === 'disabled') return pick(now)
  switch (sign) {
    case 'succeeded':
      return wellAgain
    case 'answered':
      return pick(now)
    case 'gone':
      return { ...failed(now, at), health: 'disabled', disabledReason: 'gone' }
    case 'failed':
      return failed(now, at)
    default:
      return unreachable(sign)
  }
}

function failed(now: HealthChange, at: number): HealthChange {
  const failures = now.failures + 1
  // A clock that was set back must not make the time of failures negative.
  const failingSince = Math.min(now.failingSince ?? at, at)
  const days = (at - failingSince) / msPerDay
  const isPaused = failures >= failuresUntilPaused
  // A single failure long after another one, or a clock that jumped, is no row of failures.
  const isDisabled = isPaused && days >= daysUntilDisabled
  return {
    health: isDisabled ? 'disabled' : isPaused ? 'paused' : 'degraded',
    failures,
    failingSince,
    warnedDays: Math.max(now.warnedDays, ...warningDays.filter((limit) => days >= limit)),
    disabledReason: isDisabled ? 'failing' : null,
  }
}

/** What the owner has to be told of a change. */
export type Warning =
  | { readonly kind: 'failing'; readonly days: number }
  | { readonly kind: 'disabled'; readonly reason: 'gone' | 'failing' }

/** The warnings of one step, at most one of each kind; none for what the owner did. */
export function findWarnings(before: HealthChange, after: HealthChange): readonly Warning[] {
  const warnings: Warning[] = []
  if (after.warnedDays > before.warnedDays) {
    warnings.push({ kind: 'failing', days: after.warnedDays })
  }
  const reason = after.disabledReason
  if (before.health !== 'disabled' && (reason === 'gone' || reason === 'failing')) {
    warnings.push({ kind: 'disabled', reason })
  }
  return warnings
}

function pick(row: HealthChange | EndpointRow): HealthChange {
  const { health, failures, failingSince, warnedDays, disabledReason } = row
  return { health, failures, failingSince, warnedDays, disabledReason }
}

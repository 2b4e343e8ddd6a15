/**
 * The health of an endpoint, from its attempts alone: healthy, degraded after a failure, paused after five in
 * a row, disabled after five days with failures only or after a 410 (docs/events.md, Health). Pure.
 */
import { dayMs, type Millis } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { EndpointRow, HealthChange } from '#store/ports/endpoints.ts'

/** What an attempt shows. `answered`: it works, and wants no more of this delivery. `gone`: 410. */
export type HealthSignal = 'succeeded' | 'failed' | 'answered' | 'gone'

export const failuresUntilPaused = 5
/** After this many days with failures only the owner is warned; after the last the endpoint is disabled. */
export const warningDays = [1, 3, 5] as const
const daysUntilDisabled = 5

export const wellAgain: HealthChange = {
  health: 'healthy',
  failures: 0,
  failingSince: null,
  warnedDays: 0,
  disabledReason: null,
}

/** The endpoint's health after an attempt that ended at `at`. */
export function nextHealth(now: HealthChange, signal: HealthSignal, at: Millis): HealthChange {
  // The owner disabled it during the attempt, and only the owner enables it again.
  if (now.health === 'disabled') return pick(now)
  switch (signal) {
    case 'succeeded':
      return wellAgain
    case 'answered':
      return pick(now)
    case 'gone':
      return { ...failed(now, at), health: 'disabled', disabledReason: 'gone' }
    case 'failed':
      return failed(now, at)
    default:
      return unreachable(signal)
  }
}

function failed(now: HealthChange, at: number): HealthChange {
  const failures = now.failures + 1
  // When the clock was set back, the duration of failures must not become negative.
  const failingSince = Math.min(now.failingSince ?? at, at)
  const days = (at - failingSince) / dayMs
  const isPaused = failures >= failuresUntilPaused
  // A single failure long after another one, or a clock that jumped, must not disable the endpoint.
  const isDisabled = isPaused && days >= daysUntilDisabled
  return {
    health: isDisabled ? 'disabled' : isPaused ? 'paused' : 'degraded',
    failures,
    failingSince,
    warnedDays: Math.max(now.warnedDays, ...warningDays.filter((limit) => days >= limit)),
    disabledReason: isDisabled ? 'failing' : null,
  }
}

/** A warning to the owner about a change of health. */
export type Warning =
  | { readonly kind: 'failing'; readonly days: number }
  | { readonly kind: 'disabled'; readonly reason: 'gone' | 'failing' }

/** The warnings about one change, at most one of each kind; none for a change that the owner made. */
export function findHealthWarnings(before: HealthChange, after: HealthChange): readonly Warning[] {
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

/** The age of data in the port to a provider. */
import type { Millis } from '#kernel/time.ts'

/** The oldest time that is known; null: none is. */
export function oldestOf(times: readonly (Millis | null | undefined)[]): Millis | null {
  const known = times.flatMap((time) => time ?? [])
  return known.length === 0 ? null : Math.min(...known)
}

/** How old data are at a provider that is read only a few times a day (reading R36). */
export interface DataAge {
  /** When the institution last updated the oldest of them; null: the provider does not say (reading R40). */
  readonly asOf: Millis | null
  /** They must not be shown after it. */
  readonly goodUntil: Millis
}

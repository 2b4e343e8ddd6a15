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

/**
 * The age of all of these together: the oldest of them, and the earliest end; neither where none has an age
 * (reading R36).
 */
export function ageOf(
  pages: readonly { readonly age: DataAge | null }[],
): Pick<DataAge, 'goodUntil'> & Partial<DataAge> {
  const ages = pages.flatMap(({ age }) => age ?? [])
  const goodUntil = Math.min(...ages.map((age) => age.goodUntil))
  return ages.length === 0
    ? { goodUntil }
    : { asOf: oldestOf(ages.map((age) => age.asOf)), goodUntil }
}

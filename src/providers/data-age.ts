/** The age of data in the port to a provider. */
import type { Millis } from '#kernel/time.ts'

/** How old data are at a provider that is read only a few times a day (reading R36). */
export interface DataAge {
  /** When the institution last updated them, as far as the provider says; otherwise when they were read. */
  readonly asOf: Millis
  /** They must not be shown after it. */
  readonly goodUntil: Millis
}

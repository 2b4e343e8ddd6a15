/**
 * How far ahead due times and leases can lie by the present clock. What lies further ahead was written by a
 * clock that has been set back since, and would wait until the clock is there again. Milliseconds.
 */
import type { Millis } from '#kernel/time.ts'

export interface WaitLimits {
  readonly now: Millis
  /** A lease that ends later than twice this from `now` then ends after this; its holder renews it. */
  readonly leaseMs: number
  /** What is due later than this from `now` is then due at `now`. */
  readonly longestMs: number
}

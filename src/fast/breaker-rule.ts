/**
 * The numbers of the breaker (contract, Limits; reading R21), shared by both drivers. The rule itself exists
 * in TypeScript and in Lua; the contract suite checks that both behave the same.
 */
import { hourMs, minuteMs } from '#kernel/time.ts'

export interface BreakerRule {
  /** This many failures … */
  readonly failures: number
  /** … within this time open the breaker … */
  readonly windowMs: number
  /** … for this long; then one probe is allowed. */
  readonly openMs: number
  /** A probe without a result after this long is abandoned, and the next request may be the probe. */
  readonly probeMs: number
  /** Without any request for this long after the cooldown the entry is deleted, which closes the breaker. */
  readonly forgetMs: number
}

export const breakerRule: BreakerRule = {
  failures: 3,
  windowMs: minuteMs,
  openMs: minuteMs,
  probeMs: 30_000,
  forgetMs: hourMs,
}

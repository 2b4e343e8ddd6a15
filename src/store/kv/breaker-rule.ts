/**
 * The numbers of the breaker (specification, Limits; reading R21), the same for both drivers. The rule itself stands
 * twice, in TypeScript and in Lua; the contract suite holds the two together.
 */
export interface BreakerRule {
  /** This many failures … */
  readonly failures: number
  /** … younger than this open it … */
  readonly windowMs: number
  /** … for this long; then one probe is let through. */
  readonly openMs: number
  /** A probe that reports nothing for this long is given up, and the next request may be the probe. */
  readonly probeMs: number
  /** Nobody asked for this long after it could have been probed: forgotten, thus closed. */
  readonly forgetMs: number
}

export const breakerRule: BreakerRule = {
  failures: 3,
  windowMs: 60_000,
  openMs: 60_000,
  probeMs: 30_000,
  forgetMs: 3_600_000,
}

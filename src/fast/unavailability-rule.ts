/**
 * When a slow Redis counts as unavailable. One missed deadline proves little: the network, Redis or this
 * process may have paused briefly, and then all pending commands miss their deadlines together. Deadlines
 * that are missed close together therefore count as one stall, and only several stalls make Redis
 * unavailable.
 */
export interface UnavailabilityRule {
  /** Deadlines missed within this time of the first are one stall; equal to a command's deadline. */
  readonly stallMs: number
  /** Unavailable after this many stalls without an answer between them … */
  readonly inARow: number
  /** … or after this many stalls … */
  readonly ofRecent: number
  /** … within this time, even with answers between them. */
  readonly recentMs: number
}

/** No answer for three quarters of a second, or half of the time in stalls over five seconds. */
export const unavailabilityRule: UnavailabilityRule = {
  stallMs: 250,
  inARow: 3,
  ofRecent: 10,
  recentMs: 5000,
}

export interface Lateness {
  /**
   * Records a command that missed its deadline at `now`, in milliseconds; true when Redis is now unavailable.
   */
  late(now: number): boolean
  /** Records an answered command. */
  answered(): void
  /** Clears the history, after Redis became unavailable or available. */
  reset(): void
}

/** Applies `rule`; it remembers no more stalls than the rule needs. */
export function makeLateness(rule: UnavailabilityRule = unavailabilityRule): Lateness {
  let unanswered = 0
  let stalls: number[] = []

  return {
    late(now) {
      const latest = stalls.at(-1)
      if (latest === undefined || now - latest >= rule.stallMs) {
        stalls = [...stalls.filter((at) => now - at < rule.recentMs), now]
        unanswered += 1
      } else if (unanswered === 0) {
        // A command was answered during the stall; another late command counts the stall again.
        unanswered = 1
      }
      return unanswered >= rule.inARow || stalls.length >= rule.ofRecent
    },
    answered() {
      unanswered = 0
    },
    reset() {
      unanswered = 0
      stalls = []
    },
  }
}

/**
 * When a slow Redis counts as unavailable. One missed deadline proves little: the network, Redis or this
 * process may have paused briefly, and then all pending commands miss their deadlines together. Deadlines
 * that are missed close together therefore count as one stall, and only several stalls make Redis
 * unavailable.
 */

/** No answer for three quarters of a second, or half of the time in stalls over five seconds. */
export const unavailabilityRule = {
  /** Deadlines missed within this time of the first are one stall; equal to a command's deadline. */
  stallMs: 250,
  /** Unavailable after this many stalls without an answer between them … */
  inARow: 3,
  /** … or after this many stalls … */
  ofRecent: 10,
  /** … within this time, even with answers between them. */
  recentMs: 5000,
} as const

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

/** Applies the rule; it remembers no more stalls than that needs. */
export function makeLateness(): Lateness {
  const rule = unavailabilityRule
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

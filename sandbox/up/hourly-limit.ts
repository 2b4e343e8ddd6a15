/** The limit of the Up emulator: so many requests in each hour of the clock, for each token. */
import { type Clock, hourMs } from '#kernel/time.ts'

export interface HourlyLimit {
  readonly perHour: number
  /** Counts a request; `left` is negative when it is one too many. */
  count(customer: string): { readonly left: number; readonly headers: Record<string, string> }
}

export function makeHourlyLimit(perHour: number, clock: Clock): HourlyLimit {
  let hour = -1
  const counts = new Map<string, number>()
  return {
    perHour,
    count(customer) {
      const current = Math.floor(clock.now() / hourMs)
      if (current !== hour) counts.clear()
      hour = current
      const count = (counts.get(customer) ?? 0) + 1
      counts.set(customer, count)
      const left = perHour - count
      return { left, headers: { 'x-ratelimit-remaining': String(Math.max(0, left)) } }
    },
  }
}

/** The calls that a bank allows in 24 hours without the person, of each account. */
import type { Clock } from '#kernel/time.ts'
import { dayMs } from './people.ts'

/** Calls without a person, by account. */
export interface CallCounts {
  /** False: the calls of 24 hours are used up. */
  count(account: string): boolean
}

export function makeCallCounts(perDay: number, clock: Clock): CallCounts {
  const calls = new Map<string, number[]>()
  return {
    count(account) {
      const now = clock.now()
      const recent = (calls.get(account) ?? []).filter((at) => at > now - dayMs)
      if (recent.length >= perDay) return false
      calls.set(account, [...recent, now])
      return true
    },
  }
}

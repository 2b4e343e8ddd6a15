/**
 * The limits of the SimpleFIN emulator: 24 requests a day for an access, and as many for each account that is
 * asked for alone. Beyond twice that the server warns, and beyond four times the access is disabled.
 */
import type { Clock } from '#kernel/time.ts'
import { dayMs } from './people.ts'

export type Allowance = 'allowed' | 'warned' | 'disabled'

export interface Quota {
  readonly perDay: number
  /** Counts a request of this access, or of one of its accounts. */
  count(name: string): Allowance
}

export function makeQuota(perDay: number, clock: Clock): Quota {
  let day = -1
  const counts = new Map<string, number>()
  return {
    perDay,
    count(name) {
      const today = Math.floor(clock.now() / dayMs)
      if (today !== day) counts.clear()
      day = today
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      if (count > 4 * perDay) return 'disabled'
      return count > perDay ? 'warned' : 'allowed'
    },
  }
}

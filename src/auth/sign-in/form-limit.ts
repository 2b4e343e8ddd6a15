/**
 * How many forms one person may send. Every change leaves a row in the audit, which is kept: without a limit
 * one person could fill the disk in a day.
 */

import type { WindowStore } from '#fast/port.ts'
import type { UserId } from '#kernel/ids.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { dayMs, minuteMs } from '#kernel/time.ts'

/** Far beyond what a person or their script needs. */
export const formLimits = { perMinute: 300, perDay: 5000 } as const

/** Counts one form of a signed-in person; the seconds to wait when there were too many, else null. */
export type CountForm = (userId: UserId) => Promise<number | null>

export function makeCountForm({ windows }: { readonly windows: WindowStore }): CountForm {
  return async (userId) => {
    const minute = await windows.take(`form:${userId}`, formLimits.perMinute, minuteMs)
    if (!minute.allowed) return toRetrySeconds(minute.resetMs)
    const day = await windows.take(`form-day:${userId}`, formLimits.perDay, dayMs)
    return day.allowed ? null : toRetrySeconds(day.resetMs)
  }
}

/** When a person may try again, in words. */
import type { ApiError } from '#contract/errors.ts'

/** Hours, once a daily quota is used up. */
export function describeWait({ retryAfterSeconds }: Pick<ApiError, 'retryAfterSeconds'>): string {
  const minutes = Math.ceil((retryAfterSeconds ?? 0) / 60)
  if (minutes < 3) return 'shortly'
  return minutes < 120 ? `in ${minutes} minutes` : `in ${Math.ceil(minutes / 60)} hours`
}

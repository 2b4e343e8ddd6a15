/**
 * How all public doors refuse, and how they show the state of a limit. They convert a thrown error to a
 * public one; the gate and the rooms behind it decide what is refused.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import type { WindowState } from '#fast/port.ts'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { StoreUnavailableError } from '#store/failure.ts'

/** The public error for anything thrown; an internal error reveals no details. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof StoreUnavailableError || thrown instanceof ProcessStopping) {
    return apiError('service_unavailable', { retryAfterSeconds: 5, cause: thrown })
  }
  return apiError('internal', { cause: thrown })
}

/** `Too many requests`, with the time until the window ends. */
export function rateLimited(window: WindowState): ApiError {
  return apiError('rate_limited', { retryAfterSeconds: toRetrySeconds(window.resetMs) })
}

/** The header value where a limit is switched off. */
const unlimited = String(2 ** 31 - 1)

/** The texts of the `X-RateLimit-*` headers for this window (reading R6). */
export interface RateTexts {
  readonly limit: string
  readonly remaining: string
  /** Epoch seconds, rounded up. */
  readonly reset: string
}

export function toRateTexts(window: WindowState, now: number): RateTexts {
  const { limit, remaining, resetMs } = window
  const reset = `${Math.ceil((now + resetMs) / 1000)}`
  if (limit === 0) return { limit: unlimited, remaining: unlimited, reset }
  return { limit: `${limit}`, remaining: `${remaining}`, reset }
}

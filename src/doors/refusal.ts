/**
 * What the public doors have in common when they say no, and how full a window is. They translate what was thrown into
 * an error with a public face; what is refused is decided in the gate and behind it.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { WindowState } from '#store/kv-port.ts'

/** The public face of whatever was thrown; a mistake of ours says nothing inside. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof StoreUnavailableError) {
    return apiError('service_unavailable', { retryAfterSeconds: 5, cause: thrown })
  }
  return apiError('internal', { cause: thrown })
}

/** `Too many requests`, with the time until the window ends. */
export function rateLimited(window: WindowState): ApiError {
  return apiError('rate_limited', {
    retryAfterSeconds: Math.max(1, Math.ceil(window.resetMs / 1000)),
  })
}

/** What the headers say where a limit is switched off. */
const unlimited = String(2 ** 31 - 1)

/** The texts of the `X-RateLimit-*` headers that describe this window (reading R6). */
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

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

/** Adds the three `X-RateLimit-*` headers of this window to a flat list (reading R6). */
export function pushRateHeaders(headers: string[], window: WindowState, now: number): void {
  const { limit, remaining, resetMs } = window
  headers.push(
    'X-RateLimit-Limit',
    limit === 0 ? unlimited : String(limit),
    'X-RateLimit-Remaining',
    limit === 0 ? unlimited : String(remaining),
    'X-RateLimit-Reset',
    String(Math.ceil((now + resetMs) / 1000)),
  )
}

/**
 * Converts a server's answers to upstream failures (docs/providers/simplefin.md, Errors; readings R20, R36).
 * Pure. It lets no secret through: messages of a server are cleaned and cut.
 */
import { readRetryAfter } from '#kernel/retry-after.ts'
import { hourMs } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { UpstreamResponse } from '../upstream.ts'

export const accessRefused =
  'the SimpleFIN server refuses this access: it was disabled or has ended; make a new setup token on its page and paste it here'
export const paymentEnded =
  'the subscription at the SimpleFIN server has ended; renew it there, then paste a new setup token here'
export const bankWaits =
  'the bank asks its person to sign in again; do so on the page of the SimpleFIN server'

/** @throws UpstreamError for every answer but 200. */
export function demandOk(response: UpstreamResponse, nowMs: number): Uint8Array {
  if (response.status === 200) return response.body
  throw new UpstreamError('simplefin', toFailure(response, nowMs))
}

export function toFailure({ status, headers }: UpstreamResponse, nowMs: number): UpstreamFailure {
  if (status === 402) return lost(paymentEnded)
  if (status === 401 || status === 403) return lost(accessRefused)
  if (status === 429) {
    // No wait was ever seen: the allowance refills through the day.
    const untilHour = Math.ceil((hourMs - (nowMs % hourMs)) / 1000)
    const retryAfterSeconds = readRetryAfter(headers, nowMs) ?? untilHour
    return { kind: 'throttled', retryAfterSeconds, detail: 'the server has had too many requests' }
  }
  if (status >= 500) {
    return { kind: 'unavailable', status, detail: `the server answered ${status}` }
  }
  if (status >= 400) return { kind: 'rejected', status, detail: `the server answered ${status}` }
  if (status >= 300) {
    const detail = 'the server redirects to another address, which is not followed'
    return { kind: 'rejected', status: 400, detail }
  }
  return { kind: 'malformed', detail: `the server answered ${status} without data` }
}

const lost = (detail: string): UpstreamFailure => {
  return { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail }
}

/** A body, or one of its rows, that cannot be read (reading R23). */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('simplefin', { kind: 'malformed', detail }, cause)
}

export function unavailable(detail: string): UpstreamError {
  return new UpstreamError('simplefin', { kind: 'unavailable', status: null, detail })
}

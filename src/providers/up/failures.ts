/**
 * Converts Up's answers other than 2xx to upstream failures (docs/providers/up.md, Errors and limits; reading
 * R20). Pure. It lets no secret through: details are Up's own message, cleaned and truncated, or our words
 * where Up has none.
 */
import { readRetryAfter } from '#kernel/retry-after.ts'
import { hourMs } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { readRefusalBody, toDetail } from '../refusal-body.ts'
import { readServerTime } from '../server-time.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** Up does not tell an expired, a revoked and a replaced token apart, so the message names all three. */
export const tokenRefused =
  'Up refuses this token: it has expired, was revoked, or a newer one has replaced it; make a new one in the Up app (Data sharing, Personal Access Token) and link it again'

const notThere =
  'it has nothing at /util/ping; UP_BASE_URL includes the version, https://api.up.com.au/api/v1'

/** What the failure of an answer depends on besides the answer. */
export interface FailureContext {
  readonly nowMs: number
  /** Removed from the detail. */
  readonly secrets: readonly string[]
  /** True when the path names one account, so that a 404 is about it. */
  readonly isOnAccount: boolean
  /** The path is there at every Up, so a 404 is about the base URL. */
  readonly isPing?: boolean
}

export function toFailure(response: UpstreamResponse, context: FailureContext): UpstreamFailure {
  const { status } = response
  const detail = readDetail(response, context.secrets)
  if (status === 429) {
    const wait = readRetryAfter(response.headers, context.nowMs) ?? untilFullHour(response, context)
    return { kind: 'throttled', retryAfterSeconds: wait, detail }
  }
  if (status >= 500) return { kind: 'unavailable', status, detail }
  // A status below 400 is a redirect, which is never followed and which this API does not send.
  if (status < 400) return { kind: 'malformed', detail: `an unexpected status ${status}` }
  if (status === 410) return { kind: 'misconfigured', status, detail }
  if (status === 401) {
    return {
      kind: 'consent_lost',
      becomes: 'invalidated',
      wholeLogin: true,
      detail: tokenRefused,
    }
  }
  if (status === 404 && context.isOnAccount) return { kind: 'account_gone', detail }
  if (status === 404 && context.isPing === true)
    return { kind: 'rejected', status, detail: notThere }
  return { kind: 'rejected', status, detail }
}

/** Up counts calls by the hour and sends no `Retry-After`: seconds to the next full hour of its own clock. */
function untilFullHour(response: UpstreamResponse, { nowMs }: FailureContext): number {
  const theirs = readServerTime(response.headers) ?? nowMs
  return Math.ceil((hourMs - (theirs % hourMs)) / 1000)
}

/** A body, or one of its rows, that cannot be read (reading R23). */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('up', { kind: 'malformed', detail }, cause)
}

/** Makes a message safe to show: no secrets, no control characters, at most 300 characters. */
export function cleanDetail(text: string, secrets: readonly string[]): string {
  return toDetail(hideSecrets(text, secrets).replace(/\bup(?::|%3a)[^\s"']+/gi, '[secret]'))
}

function readDetail({ status, body }: UpstreamResponse, secrets: readonly string[]): string {
  return cleanDetail(readMessage(body) ?? '', secrets) || `the provider answered ${status}`
}

/** Title and detail of the first error of `{errors: [{status, title, detail, source?}]}`; null: none. */
export function readMessage(body: Uint8Array): string | null {
  const { errors } = readRefusalBody(body)
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined
  const { title, detail }: Record<string, unknown> = typeof first === 'object' ? { ...first } : {}
  const said = [title, detail].filter((word) => typeof word === 'string' && word !== '')
  return said.length === 0 ? null : said.join(': ')
}

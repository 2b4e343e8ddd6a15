/**
 * Converts SnapTrade's answers other than 200 to upstream failures (docs/providers/snaptrade.md, Errors and
 * limits; readings R20 to R20a). It owns the table of statuses and the cleaning of the provider's message; it
 * makes no further requests.
 */
import { retryLaterSeconds } from '#contract/limits.ts'
import { maxRetryAfterSeconds, readRetryAfter } from '#kernel/retry-after.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { readRefusalBody, toDetail } from '../refusal-body.ts'
import type { UpstreamResponse } from '../upstream.ts'

/**
 * Whose credentials an answer may refuse: a user's under the commercial key; `ours`, the key of the variables
 * alone; or `brought`, the key that a person brought for their login.
 */
export type Blame = 'user' | 'ours' | 'brought'

interface FailureContext {
  readonly nowMs: number
  /** Removed from the provider's message. */
  readonly secrets: readonly string[]
  readonly blame: Blame
}

/** A 401 or 403 about a user stays `rejected`: the connection alone shows whether the consent is lost. */
export function toFailure(response: UpstreamResponse, context: FailureContext): UpstreamFailure {
  const { nowMs, secrets, blame } = context
  const { status, headers } = response
  const { text, code } = readError(response.body)
  const detail = cleanDetail(text ?? `SnapTrade answered ${status}`, secrets)
  if (status === 429) {
    const wait = readRetryAfter(headers, nowMs) ?? readReset(headers)
    return { kind: 'throttled', retryAfterSeconds: wait ?? retryLaterSeconds, detail }
  }
  if (status === 425) return { kind: 'preparing', detail }
  if (status === 410) return { kind: 'misconfigured', status, detail }
  if (status === 401) return toRefusal({ code, detail, blame })
  if (status === 402) {
    const disabled = code === '3003' || code === '3011'
    if (disabled) return { kind: 'consent_lost', becomes: 'invalidated', detail }
    // The plan of a key that a person brought is the person's.
    return { kind: blame === 'brought' ? 'rejected' : 'misconfigured', status, detail }
  }
  if (status >= 400 && status < 500) return { kind: 'rejected', status, detail }
  if (status >= 500) {
    return { kind: 'unavailable', status, detail: withRequestId(detail, headers) }
  }
  // Redirects are not followed, and no other 2xx or 3xx has a body that we could read.
  return { kind: 'malformed', detail: `an answer with status ${status}` }
}

/**
 * What a 401 refuses. For a user: the client id, the key or the clock is wrong, which only the operator can
 * fix (reading R20a), or the user's secret. A personal key takes the place of the user, so that a 401 is
 * about the key; where a person brought it, only the clock is the operator's.
 */
function toRefusal({
  code,
  detail,
  blame,
}: {
  readonly code: string | null
  readonly detail: string
  readonly blame: Blame
}): UpstreamFailure {
  const isClock = /timestamp/i.test(detail)
  const isKey = code === '1076' || /invalid clientid|signature/i.test(detail)
  if (blame === 'ours' || isClock || (blame === 'user' && isKey)) {
    return { kind: 'misconfigured', status: 401, detail }
  }
  if (blame === 'user') return { kind: 'rejected', status: 401, detail }
  return {
    kind: 'consent_lost',
    becomes: 'invalidated',
    wholeLogin: true,
    detail: `SnapTrade refuses this personal key (${detail}): link again with the key that its Dashboard shows`,
  }
}

interface ErrorBody {
  readonly text: string | null
  readonly code: string | null
}

/** The bodies vary: `{detail, code}`, `{default_detail, default_code}`, `{error}`; the first text is used. */
function readError(body: Uint8Array): ErrorBody {
  const value = readRefusalBody(body)
  const texts = [value.detail, value.default_detail, value.error, value.message]
  const text = texts.find((item) => typeof item === 'string' && item.trim() !== '')
  const code = value.code ?? value.default_code
  return {
    text: typeof text === 'string' ? text : null,
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
  }
}

/** Makes the provider's message safe to show: bounded, on one line, without credentials. */
export function cleanDetail(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)])
  const secretField = /\b(userSecret|userId|clientId|consumerKey|signature)=[^&\s"']*/gi
  return toDetail(hideSecrets(text, forms).replace(secretField, '$1=[secret]'))
}

type Headers = UpstreamResponse['headers']

/**
 * SnapTrade sends no `Retry-After` so far, but the seconds until its windows reset: that of the key, and that
 * of the account where it has one (docs/providers/snaptrade.md, Errors and limits). The wait is that of the
 * window that is used up; where that is not shown, the account's. Null when there are none.
 */
function readReset(headers: Headers): number | null {
  const windows = ['x-ratelimit-account', 'x-ratelimit'].flatMap((name) => {
    const reset = readSeconds(headers[`${name}-reset`])
    return reset === null ? [] : [{ reset, isUsedUp: headers[`${name}-remaining`] === '0' }]
  })
  const usedUp = windows.filter(({ isUsedUp }) => isUsedUp).map(({ reset }) => reset)
  return usedUp.length > 0 ? Math.max(...usedUp) : (windows[0]?.reset ?? null)
}

/** A number larger than any wait would be a point in time, which these headers must not be: null. */
function readSeconds(value: Headers[string]): number | null {
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return null
  const seconds = Number(value)
  return seconds > maxRetryAfterSeconds ? null : Math.max(1, seconds)
}

function withRequestId(detail: string, headers: Headers): string {
  const id = headers['x-request-id']
  const known = typeof id === 'string' && /^[\w-]{1,64}$/.test(id)
  return known ? `${detail} (request ${id})` : detail
}

export function fail(failure: UpstreamFailure): UpstreamError {
  return new UpstreamError('snaptrade', failure)
}

/** One secret covers all of the person's connections, so all of them lose their consent. */
export const loseLogin = (detail: string) =>
  fail({ kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail })

/** An answer or a row that cannot be read (reading R23); `detail` names the place, never the value. */
export function malformed(detail: string): UpstreamError {
  return fail({ kind: 'malformed', detail })
}

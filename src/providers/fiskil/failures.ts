/**
 * Converts Fiskil's refusals to upstream failures (docs/providers/fiskil.md, Errors and limits; readings R20,
 * R20a), and cleans its messages before they are shown. It sends nothing and retries nothing.
 */
import { retryLaterSeconds } from '#contract/limits.ts'
import { readRetryAfter } from '#kernel/retry-after.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { readRefusalBody, toDetail } from '../refusal-body.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** Messages are truncated before the patterns run, because some patterns take quadratic time. */
const maxCleaned = 2000

/** The cause of an UpstreamError that Fiskil's error body explains; `code` is the body's `name`. */
class FiskilRefusal extends Error {
  override readonly name = 'FiskilRefusal'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`Fiskil answered ${status}${code === '' ? '' : ` (${code})`}`)
    this.status = status
    this.code = code
  }
}

/** An answer, or a part of it, that cannot be read (reading R23). `detail` names the place, never a value. */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('fiskil', { kind: 'malformed', detail }, cause)
}

/** A request that is refused without sending it, because the provider could only refuse it too. */
export function rejected(status: number, detail: string): UpstreamError {
  return new UpstreamError('fiskil', { kind: 'rejected', status, detail })
}

/** The code in Fiskil's error body behind a failure; empty when there is none. */
export function refusalCode(error: unknown): string {
  const cause = error instanceof UpstreamError ? error.cause : null
  return cause instanceof FiskilRefusal ? cause.code : ''
}

/** True for a 404 or 405 about the address rather than the end user; it says nothing about the person. */
export function isUnknownAddress(error: unknown): boolean {
  const cause = error instanceof UpstreamError ? error.cause : null
  if (!(cause instanceof FiskilRefusal)) return false
  return (cause.status === 404 || cause.status === 405) && cause.code !== 'end_user_not_found'
}

/**
 * The failure for an answer other than 2xx.
 * @param secrets texts to remove from the message, in case the provider repeats them.
 */
export function toRefusal(
  response: UpstreamResponse,
  options: { readonly nowMs: number; readonly secrets: readonly string[] },
): UpstreamError {
  const { status } = response
  const { name, message } = readRefusalBody(response.body)
  const code = typeof name === 'string' ? name : ''
  const said = typeof message === 'string' ? message : ''
  const detail =
    cleanDetail(said, options.secrets) ||
    cleanDetail(code, options.secrets) ||
    `the provider answered ${status}`
  const failure = toFailure(response, detail, options.nowMs)
  return new UpstreamError('fiskil', failure, new FiskilRefusal(status, code))
}

function toFailure(response: UpstreamResponse, detail: string, nowMs: number): UpstreamFailure {
  const { status } = response
  if (status === 429) {
    const retryAfterSeconds = readRetryAfter(response.headers, nowMs) ?? retryLaterSeconds
    return { kind: 'throttled', retryAfterSeconds, detail }
  }
  // This 401 came after a fresh token; a 410 is a retired endpoint. Neither is the caller's fault (R20a).
  if (status === 401 || status === 410) return { kind: 'misconfigured', status, detail }
  if (status >= 400 && status < 500) return { kind: 'rejected', status, detail }
  return { kind: 'unavailable', status, detail }
}

/**
 * Makes a provider's message safe to show: secrets, bearer tokens and the queries of URLs are removed,
 * control and direction characters become blanks, and at most 300 characters remain.
 */
export function cleanDetail(text: string, secrets: readonly string[]): string {
  const clean = hideSecrets(text, secrets)
    .slice(0, maxCleaned)
    .replace(/\bBearer\s+\S+/gi, 'Bearer [secret]')
    .replace(/\beyJ[\w-]+(?:\.[\w-]*)*/g, '[secret]')
    .replace(/(https?:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi, '$1')
    .replace(/\/\/[^\s/@"'<>]+@/g, '//')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
  return toDetail(clean)
}

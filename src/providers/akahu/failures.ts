/**
 * Converts Akahu's answers other than 2xx to upstream failures (table of errors in `quirks.md`; readings R20, R20a).
 * Pure. It lets no secret through: details are the provider's own message, cleaned and truncated.
 */
import { retryLaterSeconds } from '#contract/limits.ts'
import { readRetryAfter } from '#kernel/retry-after.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** The kind of endpoint: the user's, one account of the user, or the app's own. */
export type Audience = 'user' | 'account' | 'app'

const maxDetailLength = 300
/** Longer error bodies are web pages of an intermediary, not Akahu's message. */
const maxErrorBytes = 65_536

/** The failure for a status. `secrets` are removed from the detail. */
export function toFailure(
  response: UpstreamResponse,
  audience: Audience,
  context: { readonly nowMs: number; readonly secrets: readonly string[] },
): UpstreamFailure {
  const { status } = response
  const detail = readDetail(response, context.secrets)
  if (status === 429) {
    const wait = readRetryAfter(response.headers, context.nowMs)
    return { kind: 'throttled', retryAfterSeconds: wait ?? retryLaterSeconds, detail }
  }
  if (status >= 500) return { kind: 'unavailable', status, detail }
  // A status below 400 is a redirect, which is never followed and which this API does not send.
  if (status < 400) return { kind: 'malformed', detail: `an unexpected status ${status}` }
  if (status === 410) return { kind: 'misconfigured', status, detail }
  if (audience === 'app' && (status === 401 || status === 403)) {
    return { kind: 'misconfigured', status, detail }
  }
  if (status === 401) {
    // One token covers all of the person's logins, so all of them lose their consent.
    return { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail }
  }
  if (status === 404 && audience === 'account') return { kind: 'account_gone', detail }
  return { kind: 'rejected', status, detail }
}

/** A body, or one of its rows, that cannot be read (reading R23). */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('akahu', { kind: 'malformed', detail }, cause)
}

/** Makes a provider's message safe to show: no secrets, no control characters, at most 300 characters. */
export function cleanDetail(text: string, secrets: readonly string[]): string {
  return hideSecrets(text, secrets)
    .replace(/\b(user|app)_token_[\w-]+/g, '[secret]')
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim()
    .slice(0, maxDetailLength)
    .toWellFormed()
}

function readDetail(response: UpstreamResponse, secrets: readonly string[]): string {
  const said = readMessage(response.body)
  const clean = said === null ? '' : cleanDetail(said, secrets)
  return clean === '' ? `the provider answered ${response.status}` : clean
}

/** `message` of the API, `error_description` or `error` of its OAuth side; null when there is none. */
function readMessage(body: Uint8Array): string | null {
  if (body.length === 0 || body.length > maxErrorBytes) return null
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null) return null
    const { message, error_description, error }: Record<string, unknown> = { ...parsed }
    return [message, error_description, error].find((one) => typeof one === 'string') ?? null
  } catch {
    // An error page that is not JSON has no message for us; the status is sufficient.
    return null
  }
}

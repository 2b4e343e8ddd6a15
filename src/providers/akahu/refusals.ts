/**
 * What an answer of Akahu that is no 2xx means, as the house's union of failures (the table of errors in `quirks.md`;
 * readings R20, R20a). Pure. It lets nothing secret through: details are the provider's own words, cleaned and cut.
 */
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { defaultRetryAfterSeconds, readRetryAfter } from '../retry-after.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** Whose endpoint was asked: the user's, one account of theirs, or the app's own. */
export type Audience = 'user' | 'account' | 'app'

const maxDetailLength = 300
/** Longer error bodies are web pages of something in between, not Akahu's sentence. */
const maxErrorBytes = 65_536

/** The failure that a status stands for. `secrets` are removed from the detail wherever they occur. */
export function toFailure(
  response: UpstreamResponse,
  audience: Audience,
  context: { readonly nowMs: number; readonly secrets: readonly string[] },
): UpstreamFailure {
  const { status } = response
  const detail = readDetail(response, context.secrets)
  if (status === 429) {
    const wait = readRetryAfter(response.headers, context.nowMs)
    return { kind: 'throttled', retryAfterSeconds: wait ?? defaultRetryAfterSeconds, detail }
  }
  if (status >= 500) return { kind: 'unavailable', status, detail }
  // Below 400 stand redirects, which are never followed: no answer of this API.
  if (status < 400) return { kind: 'malformed', detail: `an unexpected status ${status}` }
  if (status === 410) return { kind: 'misconfigured', status, detail }
  if (audience === 'app' && (status === 401 || status === 403)) {
    return { kind: 'misconfigured', status, detail }
  }
  if (status === 401) {
    // One token carries every login of the person, so all of them are hit.
    return { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail }
  }
  if (status === 404 && audience === 'account') return { kind: 'account_gone', detail }
  return { kind: 'rejected', status, detail }
}

/** A body, or a row of it, that cannot be read (reading R23). */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('akahu', { kind: 'malformed', detail }, cause)
}

/** Makes a provider's sentence fit to be shown: no secrets, no control characters, at most 300 characters. */
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
    // An error page that is no JSON has no sentence for us; the status says enough.
    return null
  }
}

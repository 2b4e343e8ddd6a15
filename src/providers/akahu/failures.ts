/**
 * Converts Akahu's answers other than 2xx to upstream failures (docs/providers/akahu.md, Errors and limits;
 * readings R20, R20a). Pure. It lets no secret through: details are the provider's own message, cleaned and
 * truncated.
 */
import { retryLaterSeconds } from '#contract/limits.ts'
import { readRetryAfter } from '#kernel/retry-after.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { readRefusalBody, toDetail } from '../refusal-body.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** The kind of endpoint: the user's, the one that names the user, one account's, or the app's own. */
export type Audience = 'user' | 'identify' | 'account' | 'app'

/** What a person does about a refusal of their personal app, by status. */
const advice: Readonly<Record<number, string>> = {
  401: 'link again with both tokens from my.akahu.nz, Developers; a regenerated token ends the one before',
  403: 'check the permissions, the accounts and the IP allow-list of the app at my.akahu.nz, Developers',
}

/**
 * The failure for a status. `secrets` are removed from the detail; `isPersonal`: the app is the person's own.
 */
export function toFailure(
  response: UpstreamResponse,
  context: {
    readonly audience: Audience
    readonly isPersonal: boolean
    readonly nowMs: number
    readonly secrets: readonly string[]
  },
): UpstreamFailure {
  const { status } = response
  const { audience, nowMs } = context
  const said = readDetail(response, context.secrets)
  // While a person links, `consent.ts` has its own words.
  const toDo = context.isPersonal && audience !== 'identify' ? advice[status] : undefined
  const detail = toDo === undefined ? said : `${said} (${toDo})`
  if (status === 429) {
    const wait = readRetryAfter(response.headers, nowMs)
    return { kind: 'throttled', retryAfterSeconds: wait ?? retryLaterSeconds, detail }
  }
  if (status >= 500) return { kind: 'unavailable', status, detail }
  // A status below 400 is a redirect, which is never followed and which this API does not send.
  if (status < 400) return { kind: 'malformed', detail: `an unexpected status ${status}` }
  if (status === 410) return { kind: 'misconfigured', status, detail }
  if (audience === 'app' && (status === 401 || status === 403)) {
    return {
      kind: 'misconfigured',
      status,
      detail: `${detail} (AKAHU_APP_TOKEN with AKAHU_APP_SECRET)`,
    }
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
  return toDetail(hideSecrets(text, secrets).replace(/\b(user|app)_token_[\w-]+/g, '[secret]'))
}

/** `message` of the API, `error_description` or `error` of its OAuth side. */
function readDetail({ status, body }: UpstreamResponse, secrets: readonly string[]): string {
  const { message, error_description, error } = readRefusalBody(body)
  const said = [message, error_description, error].find((one) => typeof one === 'string') ?? ''
  return cleanDetail(said, secrets) || `the provider answered ${status}`
}

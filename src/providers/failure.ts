/**
 * Why an upstream call did not give what was asked: a closed union, mapped to the public errors in one place
 * (`guard.ts`; readings R20 to R20b). A failure is never turned into an empty list.
 */
import type { ConnectionStatus, Provider } from '#contract/resources.ts'

export type UpstreamFailure =
  /** A 4xx that the caller's request caused; `detail` is the provider's own sentence. */
  | { readonly kind: 'rejected'; readonly status: number; readonly detail: string }
  /** A 404 on an account that may have moved to another id: the list of accounts is to be read again (Akahu). */
  | { readonly kind: 'account_gone'; readonly detail: string }
  /** 5xx, timeout, refused or reset connection. `status` null when no answer came. */
  | { readonly kind: 'unavailable'; readonly status: number | null; readonly detail: string }
  /** 429, ours or theirs. */
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly detail: string }
  /** A body that cannot be read, or a row of it (reading R23). */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** Consent or credentials are gone: the connection takes this status (readings R20, R20b). */
  | {
      readonly kind: 'consent_lost'
      readonly becomes: Exclude<ConnectionStatus, 'active'>
      /** The person's credentials as a whole: every connection that shares the login is hit. */
      readonly wholeLogin?: boolean
      readonly detail: string
    }
  /** What only the operator can mend: our app credentials, a retired endpoint (reading R20a). */
  | { readonly kind: 'misconfigured'; readonly status: number; readonly detail: string }
  /** The provider is still preparing the data (SnapTrade 425, first sync; reading R20a). */
  | { readonly kind: 'preparing'; readonly detail: string }

/** What the caller reads when a consent is gone (reading R20b). */
export const consentGone = 'consent withdrawn, reconnect'

/** Thrown by adapters; carries the union, never a URL with secrets in it. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly provider: Provider
  readonly failure: UpstreamFailure

  constructor(provider: Provider, failure: UpstreamFailure, cause?: unknown) {
    super(`${provider}: ${failure.kind}: ${failure.detail}`, { cause })
    this.provider = provider
    this.failure = failure
  }
}

/**
 * Why an upstream call failed: a closed union, mapped to public errors in one place (`guard.ts`; readings R20
 * to R20b). A failure is never converted to an empty list.
 */
import type { ConnectionStatus, Provider } from '#contract/resources.ts'

export type UpstreamFailure =
  /**
   * A 4xx caused by the caller's request; `detail` is the provider's own message. `isPersonal`: it is about a
   * key that a person brought, so that this installation's own credentials have nothing to do with it.
   */
  | {
      readonly kind: 'rejected'
      readonly status: number
      readonly detail: string
      readonly isPersonal?: true
    }
  /** A 404 on an account that may have moved to another id: list the accounts again (Akahu). */
  | { readonly kind: 'account_gone'; readonly detail: string }
  /**
   * 5xx, timeout, refused or reset connection. `status` null when no answer came. `isAnswering`: its answers
   * kept coming until the time of our request was over, so that it says nothing of its health.
   */
  | {
      readonly kind: 'unavailable'
      readonly status: number | null
      readonly detail: string
      readonly isAnswering?: true
    }
  /** 429, from the provider; `isOwnBudget`: we did not ask it, so that it says nothing of its health. */
  | {
      readonly kind: 'throttled'
      readonly retryAfterSeconds: number
      readonly detail: string
      readonly isOwnBudget?: true
    }
  /** A body, or one of its rows, that cannot be read (reading R23). */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** Consent or credentials are lost: the connection takes this status (readings R20, R20b). */
  | {
      readonly kind: 'consent_lost'
      readonly becomes: Exclude<ConnectionStatus, 'active'>
      /**
       * True when the person's credentials are lost, and with them every connection that shares the login.
       */
      readonly wholeLogin?: boolean
      readonly detail: string
    }
  /**
   * What only the operator can fix: our app credentials, a retired endpoint (reading R20a). `isPersonal`: the
   * application is one that a person brought, who can repair it at the provider.
   */
  | {
      readonly kind: 'misconfigured'
      readonly status: number
      readonly detail: string
      readonly isPersonal?: true
    }
  /** The provider is still preparing the data (SnapTrade 425; reading R20a); `of` names it where known. */
  | { readonly kind: 'preparing'; readonly detail: string; readonly of?: string }

/** The message for callers when a consent is lost (reading R20b). */
export const consentGone = 'consent withdrawn, reconnect'

/** The same when the consent is active but the login behind it was disabled (SnapTrade; reading R20b). */
export const loginDisabled = 'login disabled, reconnect'

/** Thrown by adapters; contains the union, never a URL with secrets. */
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

/** The failure behind an error, which may be the cause of a public one; null: the provider did not fail. */
export function findFailure(error: unknown): UpstreamFailure | null {
  if (error instanceof UpstreamError) return error.failure
  return error instanceof Error && error.cause !== undefined ? findFailure(error.cause) : null
}

/** What the provider says of one account, and may go on saying for ever, while others can be read. */
export function isOfAccount(error: unknown): boolean {
  const kind = findFailure(error)?.kind
  return kind === 'account_gone' || kind === 'preparing' || kind === 'rejected'
}

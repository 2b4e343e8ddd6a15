/**
 * Wraps every call from a resource to a provider: the breaker, the record of a lost consent, and the one
 * mapping of upstream failures to public errors (readings R20 to R21). It refuses nothing else and knows no
 * provider.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import type { Provider } from '#contract/resources.ts'
import type { BreakerState, BreakerStore } from '#fast/port.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { UpstreamError, type UpstreamFailure } from './failure.ts'
import type { CallContext } from './port.ts'

/** The one mapping of upstream failures to public errors. */
export function toUpstreamApiError(error: UpstreamError): ApiError {
  const failure = error.failure
  switch (failure.kind) {
    case 'rejected':
    case 'account_gone':
    case 'consent_lost':
      return apiError('upstream_bad_request', {
        message: `Upstream rejected request: ${failure.detail}`,
        cause: error,
      })
    case 'throttled':
      return apiError('provider_unavailable', {
        retryAfterSeconds: Math.max(1, Math.ceil(failure.retryAfterSeconds)),
        cause: error,
      })
    case 'preparing':
      return apiError('provider_unavailable', {
        message: `The provider is still preparing the data of ${failure.of ?? 'this connection'}; retry later`,
        retryAfterSeconds: retryLaterSeconds,
        cause: error,
      })
    case 'unavailable':
    case 'malformed':
    case 'misconfigured':
      return apiError('provider_unavailable', {
        retryAfterSeconds: retryLaterSeconds,
        cause: error,
      })
    default:
      return unreachable(failure)
  }
}

/** Reading R21: the provider was unavailable, or throttled us; other 4xx do not count. */
function countsForBreaker(failure: UpstreamFailure): boolean {
  return (
    failure.kind === 'unavailable' || failure.kind === 'malformed' || failure.kind === 'throttled'
  )
}

/**
 * A request that our own budget stopped never came to the provider (reading R36), and where its answers kept
 * coming only our own time was over (reading R21).
 */
const isOurs = (failure: UpstreamFailure): boolean =>
  (failure.kind === 'throttled' && failure.isOwnBudget === true) ||
  (failure.kind === 'unavailable' && failure.isAnswering === true)

export interface GuardTarget {
  readonly provider: Provider
  readonly userId: UserId
  readonly loginId: LoginId
  /** Version of the credentials that the work uses. */
  readonly loginVersion: number
  readonly connectionId: ConnectionId
  /** Transactions only (reading R21). */
  readonly breaker: boolean
}

export interface ConsentLoss {
  readonly target: GuardTarget
  readonly becomes: 'invalidated' | 'pending_mfa' | 'revoked'
  readonly wholeLogin: boolean
}

export interface GuardOptions {
  readonly breakers: BreakerStore
  /**
   * Stores the new status before the caller gets the error, unless the credentials were replaced meanwhile.
   */
  readonly onConsentLost: (loss: ConsentLoss) => Promise<void>
  readonly onBreakerOpen: (target: GuardTarget) => void
  /** Told how each call ended at the provider; null: it succeeded. */
  readonly onEnd?: (connectionId: ConnectionId, error: UpstreamError | null) => void
}

export interface Guard {
  /**
   * Runs one request's work at a provider until `signal` aborts it. After a TimeoutError the provider counts
   * as unavailable, unless its answers kept coming; after any other abort (all callers left) nothing is
   * counted and the signal's reason is thrown. Throws ApiError for every upstream failure.
   */
  run<T>(
    target: GuardTarget,
    signal: AbortSignal,
    work: (call: CallContext) => Promise<T>,
  ): Promise<T>
}

/** Under what the breaker of a connection is kept. */
export function nameBreaker({
  provider,
  userId,
  connectionId,
}: Pick<GuardTarget, 'provider' | 'userId' | 'connectionId'>): string {
  return `${provider}:${userId}:${connectionId}`
}

export function makeGuard(options: GuardOptions): Guard {
  async function run<T>(
    target: GuardTarget,
    signal: AbortSignal,
    work: (call: CallContext) => Promise<T>,
  ): Promise<T> {
    const key = nameBreaker(target)
    const state = target.breaker ? await options.breakers.check(key) : null
    if (state?.kind === 'open') {
      options.onBreakerOpen(target)
      throw apiError('upstream_breaker_open', {
        retryAfterSeconds: toRetrySeconds(state.cooldownMs),
      })
    }
    const times = { begun: performance.now(), answered: Number.NEGATIVE_INFINITY }
    const onAnswer = () => {
      times.answered = performance.now()
    }
    try {
      const result = await work({ signal, priority: 'user', onAnswer })
      if (state !== null) await options.breakers.succeed(key, state.kind === 'probe')
      options.onEnd?.(target.connectionId, null)
      return result
    } catch (error) {
      const upstream = toUpstreamError(error, { ...target, ...times, signal })
      if (upstream !== null) options.onEnd?.(target.connectionId, upstream)
      await settle(target, key, state, upstream)
      throw upstream === null ? error : toUpstreamApiError(upstream)
    }
  }

  /** Counts the outcome and stores a lost consent. `error` null: the provider is not at fault. */
  async function settle(
    target: GuardTarget,
    key: string,
    state: BreakerState | null,
    error: UpstreamError | null,
  ): Promise<void> {
    if (state !== null) {
      const probe = state.kind === 'probe'
      if (error === null || isOurs(error.failure)) {
        if (probe) await options.breakers.abandon(key)
      } else if (countsForBreaker(error.failure)) await options.breakers.fail(key, probe)
      else await options.breakers.succeed(key, probe)
    }
    if (error?.failure.kind === 'consent_lost') {
      const { becomes, wholeLogin = false } = error.failure
      await options.onConsentLost({ target, becomes, wholeLogin })
    }
  }

  return { run }
}

interface Times {
  readonly begun: number
  readonly answered: number
}

/**
 * True when answers kept coming, the latest one in the second half of the request: its time ended before the
 * provider’s pages did, which is no failure of the provider (reading R21).
 */
function isAnswering({ begun, answered }: Times): boolean {
  const now = performance.now()
  return now - answered < (now - begun) / 2
}

/** How the provider failed; null: it did not, or nobody waits for it any more. */
function toUpstreamError(
  error: unknown,
  about: Times & { readonly provider: Provider; readonly signal: AbortSignal },
): UpstreamError | null {
  if (error instanceof UpstreamError) return error
  const { provider, signal } = about
  if (!signal.aborted) {
    // When accounts were refreshed on the way (one had moved), the provider's error is a public one's cause.
    return error instanceof ApiError && error.cause instanceof UpstreamError ? error.cause : null
  }
  const { reason } = signal
  if (!(reason instanceof DOMException) || reason.name !== 'TimeoutError') return null
  const failure: UpstreamFailure = isAnswering(about)
    ? { kind: 'unavailable', status: null, detail: stillAnswering, isAnswering: true }
    : { kind: 'unavailable', status: null, detail: 'no answer within the time of one request' }
  return new UpstreamError(provider, failure, error)
}

const stillAnswering =
  'its answers kept coming, but the time of one request was over before the last'

/**
 * What stands between a resource and a provider: the breaker, the note that a consent is gone, and the one mapping of
 * upstream failures to public errors (readings R20 to R21). It refuses nothing else and knows no provider.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { BreakerState, BreakerStore } from '#store/kv-port.ts'
import { UpstreamError, type UpstreamFailure } from './failure.ts'
import type { CallContext } from './port.ts'

/** Specification, common headers: `Retry-After: 30` on the plain provider-unavailable 503. */
const retryAfterSeconds = 30

/** The one mapping of upstream failures to public errors. */
export function toApiError(error: UpstreamError): ApiError {
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
        message: 'The provider is still preparing the data of this connection; retry later',
        retryAfterSeconds,
        cause: error,
      })
    case 'unavailable':
    case 'malformed':
    case 'misconfigured':
      return apiError('provider_unavailable', { retryAfterSeconds, cause: error })
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

export interface GuardTarget {
  readonly provider: Provider
  readonly userId: UserId
  readonly loginId: LoginId
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
  /** Writes the new status down before the caller hears of it. */
  readonly onConsentLost: (loss: ConsentLoss) => Promise<void>
  readonly onBreakerOpen: (target: GuardTarget) => void
}

export interface Guard {
  /**
   * Runs one request's work at a provider. `signal` ends it: aborted with a TimeoutError, the provider counts as
   * unavailable; aborted otherwise (nobody waits any more), nothing is counted and the signal's reason is thrown.
   * Throws ApiError for every upstream failure.
   */
  run<T>(
    target: GuardTarget,
    signal: AbortSignal,
    work: (call: CallContext) => Promise<T>,
  ): Promise<T>
}

export function makeGuard(options: GuardOptions): Guard {
  async function run<T>(
    target: GuardTarget,
    signal: AbortSignal,
    work: (call: CallContext) => Promise<T>,
  ): Promise<T> {
    const key = `${target.provider}:${target.userId}:${target.connectionId}`
    const state = target.breaker ? await options.breakers.check(key) : null
    if (state?.kind === 'open') {
      options.onBreakerOpen(target)
      throw apiError('upstream_breaker_open', {
        retryAfterSeconds: Math.max(1, Math.ceil(state.cooldownMs / 1000)),
      })
    }
    try {
      const result = await work({ signal, priority: 'user' })
      if (state !== null) await options.breakers.succeed(key, state.kind === 'probe')
      return result
    } catch (error) {
      const upstream = asUpstreamError(target, signal, error)
      await settle(target, key, state, upstream)
      throw upstream === null ? error : toApiError(upstream)
    }
  }

  /** Counts the outcome and writes a lost consent down. `error` null: the provider is not to blame. */
  async function settle(
    target: GuardTarget,
    key: string,
    state: BreakerState | null,
    error: UpstreamError | null,
  ): Promise<void> {
    if (state !== null) {
      const probe = state.kind === 'probe'
      if (error === null) {
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

function asUpstreamError(
  target: GuardTarget,
  signal: AbortSignal,
  error: unknown,
): UpstreamError | null {
  if (error instanceof UpstreamError) return error
  // Accounts that were read anew on the way (a moved one) fail with the public error, the provider's as its cause.
  if (error instanceof ApiError && error.cause instanceof UpstreamError) return error.cause
  const timedOut =
    signal.aborted && signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  if (!timedOut) return null
  const detail = 'no answer within the time of one request'
  return new UpstreamError(target.provider, { kind: 'unavailable', status: null, detail }, error)
}

/**
 * The public error of an upstream failure (guard.ts) as operators see it: they can fix the cause. It adds the
 * provider's message and never a secret, because failures carry none.
 */
import { type ApiError, apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import { ownCredentialsOf } from './all-facts.ts'
import { UpstreamError } from './failure.ts'

/**
 * API callers learn only that a provider is unavailable (reading R20a); an operator also gets the provider's
 * message. Other errors are returned as they are.
 */
export function toOperatorsError(error: ApiError): ApiError {
  const { cause } = error
  if (error.entry !== 'provider_unavailable' || !(cause instanceof UpstreamError)) return error
  const { provider, failure } = cause
  const details = [`${provider}: ${failure.detail}`]
  if (failure.kind !== 'misconfigured') {
    return apiError(error.entry, {
      message: error.message,
      details,
      retryAfterSeconds: error.retryAfterSeconds ?? retryLaterSeconds,
      cause,
    })
  }
  const message =
    failure.status === 410
      ? `${provider} has retired an endpoint that this version uses; upgrade Tributary`
      : `${provider} refuses this installation’s own credentials; correct ${ownCredentialsOf(provider)} and restart`
  return apiError('provider_refuses_us', { message, details, cause })
}

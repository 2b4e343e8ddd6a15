/**
 * Whether a token or a key covers an operation: the granted scopes of a token (contract, Authentication), all
 * of which an API key has, and the scopes that a narrow key is limited to (reading R43). What a plan allows
 * is checked earlier (reading R28).
 */
import type { Caller } from '#auth/caller.ts'
import { type ApiError, apiError } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import { hasKeyScope } from '#contract/reach.ts'

/** Why a token may not read an operation; null: it may. */
export function checkTokenScope({ scopes }: Caller, { scope }: Operation): ApiError | null {
  if (scopes.includes(scope)) return null
  return apiError('insufficient_scope', {
    message: `The access token lacks the scope ${scope}; authorize again and allow it`,
  })
}

/** Why a narrow key may not read an operation; null: it may. */
export function checkKeyScope({ reach }: Caller, { keyScope }: Operation): ApiError | null {
  if (reach === undefined || keyScope === null || hasKeyScope(reach, keyScope)) return null
  return apiError('key_lacks_scope', {
    message: `This key lacks the scope ${keyScope}; use a key that has it`,
  })
}

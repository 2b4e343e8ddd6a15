/**
 * Whether the granted scopes cover an operation (contract, Authentication). API keys have every scope; what a
 * plan allows is checked earlier (reading R28).
 */
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'

/** Throws `insufficient_scope`. */
export function requireScope(caller: Caller, operation: Operation): void {
  if (caller.scopes.includes(operation.scope)) return
  throw apiError('insufficient_scope', {
    message: `The access token lacks the scope ${operation.scope}; authorize again and allow it`,
  })
}

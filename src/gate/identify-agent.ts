/**
 * Finds the caller from an agent's Authorization header: an API key as on REST, else an OAuth access token.
 * Tokens and the plan behind them are looked up on every request, so that a revoked token or a changed plan
 * applies to the next call (reading R27); nothing about a token is cached.
 */

import { type Caller, toCaller, toGrantBucket } from '#auth/caller.ts'
import { isMeantAsKey } from '#auth/keys.ts'
import type { TokenReader } from '#auth/oauth/port.ts'
import { apiError } from '#contract/errors.ts'
import type { Store } from '#store/ports/store.ts'
import type { Credential } from './credential.ts'
import type { Identify } from './identify.ts'
import { makeTouch, type TouchOptions } from './touch.ts'

export interface IdentifyAgentOptions extends TouchOptions {
  readonly keys: Pick<Identify, 'recall' | 'find'>
  /** Null: this process has no authorization server, and only API keys are accepted. */
  readonly tokens: TokenReader | null
  readonly store: Pick<Store, 'users'>
}

/**
 * Finds the caller of a request to `/mcp`; throws `invalid_token` for anything that is neither a valid key
 * nor a valid token.
 */
export type IdentifyAgent = Pick<Identify, 'recall' | 'find'>

export function makeIdentifyAgent(options: IdentifyAgentOptions): IdentifyAgent {
  const { keys, tokens, store, clock } = options
  const touch = makeTouch('agent-last-used', options)

  async function callerOf(token: string, reader: TokenReader): Promise<Caller> {
    const facts = await reader.find(token)
    if (facts === null || facts.expiresAt <= clock.now()) throw apiError('invalid_token')
    const access = await store.users.findAccess(facts.userId)
    if (access === null) throw apiError('invalid_token')
    touch(facts.grantId, (at) => reader.noteUse(facts, at))
    const { grantId, scopes, connections: connectionIds } = facts
    // The limits are those of the grant of a user to an agent (reading R28), however many tokens it has.
    const limits = { scopes: null, connectionIds, accountIds: null }
    return toCaller(access, { bucketId: toGrantBucket(grantId), scopes, limits })
  }

  /** The text of an access token; null for any other credential. */
  function tokenOf({ bearer }: Credential): string | null {
    return bearer.kind === 'token' && !isMeantAsKey(bearer.token) ? bearer.token : null
  }

  return {
    recall: keys.recall,
    find(credential) {
      const token = tokenOf(credential)
      if (token === null || tokens === null) return keys.find(credential)
      return callerOf(token, tokens)
    },
  }
}

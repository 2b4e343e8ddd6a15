/**
 * From an Authorization header of an agent to its caller: an API key as on REST, else an OAuth access token. Tokens and
 * the plan behind them are looked up on every request, so that a revoked token or a changed plan counts on the next call
 * (reading R27); nothing about a token is remembered here.
 */
import { type Caller, defaultTimezone } from '#auth/caller.ts'
import { isMeantAsKey } from '#auth/keys.ts'
import type { TokenFacts, TokenReader } from '#auth/oauth/port.ts'
import { apiError } from '#contract/errors.ts'
import type { Clock } from '#kernel/time.ts'
import type { Maybe } from '#store/kv-port.ts'
import type { Store, UserAccessRow } from '#store/port.ts'
import { readBearer } from './bearer.ts'
import type { Identify } from './identify.ts'

export interface IdentifyAgentOptions {
  readonly keys: Pick<Identify, 'caller'>
  /** Null: this process has no authorization server, and API keys alone are accepted. */
  readonly tokens: TokenReader | null
  readonly store: Pick<Store, 'users'>
  readonly clock: Clock
}

/**
 * The caller of a request to `/mcp`; throws `missing_authorization`, or `invalid_token` for whatever is neither a good
 * key nor a good token. `connection` as in `Identify`.
 */
export type IdentifyAgent = (
  authorization: string | undefined,
  connection: object | null,
) => Maybe<Caller>

export function makeIdentifyAgent(options: IdentifyAgentOptions): IdentifyAgent {
  const { keys, tokens, store, clock } = options

  async function callerOf(token: string, reader: TokenReader): Promise<Caller> {
    const facts = await reader.find(token)
    if (facts === null || facts.expiresAt <= clock.now()) throw apiError('invalid_token')
    const access = await store.users.findAccess(facts.userId)
    if (access === null) throw apiError('invalid_token')
    return toCaller(facts, access)
  }

  return (authorization, connection) => {
    const bearer = readBearer(authorization)
    if (bearer.kind !== 'token' || isMeantAsKey(bearer.token) || tokens === null) {
      return keys.caller(authorization, connection)
    }
    return callerOf(bearer.token, tokens)
  }
}

/** Limits are those of the grant of a user to an agent (reading R28), however many tokens it has. */
function toCaller(facts: TokenFacts, access: UserAccessRow): Caller {
  const { plan, status, legacyUntil, grandfathered } = access
  return {
    userId: access.userId,
    bucketId: `grant:${facts.grantId}`,
    timezone: access.timezone ?? defaultTimezone,
    plan: { plan, status, legacyUntil, grandfathered },
    scopes: facts.scopes,
    epoch: access.epoch,
  }
}

/**
 * What the authorization server offers to other rooms: look up tokens, describe and decide consent requests,
 * list and disconnect agents. No other room sees the engine.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { By, Person } from '#contract/actor.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { agentsListed } from '#store/ports/oauth.ts'
import type { PlanRow } from '#store/ports/users.ts'
import type { Scope } from '../scopes.ts'

/** A list has at most so many agents, its newest. */
export const mostAgentsShown = agentsListed

/** An access token that is currently valid for `{mcp_url}/mcp`. */
export interface TokenFacts {
  readonly userId: UserId
  readonly clientId: string
  /** The grant of this user to this client; limits are counted under it. */
  readonly grantId: string
  readonly scopes: readonly Scope[]
  /** Those that the person chose (reading R43); null: every one, later ones too. */
  readonly connections: readonly ConnectionId[] | null
  readonly expiresAt: Millis
}

export interface TokenReader {
  /** Null for a token that is unknown, expired, revoked or made for another audience. One indexed read. */
  find(token: string): Promise<TokenFacts | null>
  /** Stores when a grant was used; called at most once a minute per grant, beside the request. */
  noteUse(facts: TokenFacts, at: number): Promise<void>
}

/** An authorization request that waits for a person. */
export interface PendingConsent {
  readonly uid: string
  /** The name that the client gives itself; not verified. */
  readonly clientName: string
  /** Where the answer will be sent, e.g. `claude.ai` or `127.0.0.1`. */
  readonly redirectHost: string
  /** Requested scopes; the person may leave some out. */
  readonly scopes: readonly Scope[]
  /**
   * What the page's `form-action` must allow besides our own origin: the origin or scheme of the redirect.
   */
  readonly formAction: string
}

/**
 * Who decides. Deciding needs a password given in the last ten minutes, because an unattended, signed-in
 * browser must not be enough, and a session that has not ended meanwhile.
 */
export interface ConsentDecision extends By<Person> {
  /** When the person gave the password. */
  readonly signedInAt: Millis
}

export interface ConsentRequests {
  /** The request that this browser's interaction cookie names; null when there is none or it has expired. */
  find(request: IncomingMessage, response: ServerResponse): Promise<PendingConsent | null>
  /**
   * Grants the selected scopes (`{scopes}`), as far as they were requested and the plan includes them; with
   * none left it denies. `connections` limits the grant to these; absent, or all of theirs: every connection,
   * later ones too. Resolves with where the browser goes next, or with null when the person has to sign
   * in again: then nothing is granted and the request still waits.
   * @throws ApiError `invalid_params`, also when no chosen connection is theirs: the request still waits.
   */
  allow(
    request: IncomingMessage,
    response: ServerResponse,
    decision: ConsentDecision & { readonly plan: PlanRow; readonly input: unknown },
  ): Promise<string | null>
  /** Refuses; resolves with where the browser goes (`error=access_denied`); null: sign in again first. */
  deny(
    request: IncomingMessage,
    response: ServerResponse,
    decision: ConsentDecision,
  ): Promise<string | null>
}

export interface ConnectedAgent {
  readonly grantId: string
  /** The name of the agent in the audit; null for an agent that an earlier version connected. */
  readonly clientId: string | null
  readonly clientName: string
  readonly redirectHost: string
  readonly scopes: readonly Scope[]
  /** Ids of the chosen connections; null: every one, later ones too. */
  readonly connections: readonly string[] | null
  readonly connectedAt: number
  /** To the minute; null: it has read nothing yet. */
  readonly lastUsedAt: number | null
}

export interface Agents {
  list(userId: UserId): Promise<readonly ConnectedAgent[]>
  /**
   * Revokes the grant (`{grantId}`) and all its tokens; false when it is not this user's.
   * @throws ApiError `invalid_params`.
   */
  disconnect(by: By, userId: UserId, input: unknown): Promise<boolean>
}

/** One answered request to the authorization server, for metrics and the log. */
export interface OAuthRecord {
  readonly door: 'oauth'
  readonly endpoint: 'authorize' | 'token' | 'register' | 'revoke' | 'discovery' | 'preflight'
  readonly status: number
  readonly durationMs: number
}

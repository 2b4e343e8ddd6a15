/**
 * What the authorization server offers to the rest of the house: tokens looked up, a request for consent described and
 * decided, connected agents listed and cut off. The engine behind it is seen by nobody else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UserId } from '#kernel/ids.ts'
import type { Scope } from '../scopes.ts'

/** An access token that is good at this moment for `{mcp_url}/mcp`. */
export interface TokenFacts {
  readonly userId: UserId
  readonly clientId: string
  /** The grant of this user to this client: whose limits are counted. */
  readonly grantId: string
  readonly scopes: readonly Scope[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface TokenReader {
  /** Null for a token that is unknown, expired, revoked or made for another audience. One indexed read. */
  find(token: string): Promise<TokenFacts | null>
}

/** An agent's request that waits for a person. */
export interface PendingConsent {
  readonly uid: string
  /** As the client calls itself: somebody else's words. */
  readonly clientName: string
  /** Where the answer will be sent, e.g. `claude.ai` or `127.0.0.1`. */
  readonly redirectHost: string
  /** Asked for; the person may leave some out. */
  readonly scopes: readonly Scope[]
  /** What the page's `form-action` must allow besides ourselves: the origin or scheme of the redirect. */
  readonly formAction: string
}

export interface ConsentDesk {
  /** The request that this browser's interaction cookie stands for; null when there is none or it has expired. */
  find(request: IncomingMessage, response: ServerResponse): Promise<PendingConsent | null>
  /** Grants the scopes that were left standing; resolves with where the browser goes next. */
  allow(
    request: IncomingMessage,
    response: ServerResponse,
    decision: {
      readonly userId: UserId
      readonly scopes: readonly Scope[]
      readonly signedInAt: number
    },
  ): Promise<string>
  /** Refuses; resolves with where the browser goes next (`error=access_denied`). */
  deny(request: IncomingMessage, response: ServerResponse): Promise<string>
}

/** An agent that a user has connected. */
export interface ConnectedAgent {
  readonly grantId: string
  readonly clientName: string
  readonly redirectHost: string
  readonly scopes: readonly Scope[]
  readonly connectedAt: number
}

export interface Agents {
  list(userId: UserId): Promise<readonly ConnectedAgent[]>
  /** Revokes the grant with every token of it; false when it is not this user's. */
  disconnect(userId: UserId, grantId: string): Promise<boolean>
}

/**
 * What the authorization server needs of the durable store: grants of people to agents, and the codes,
 * tokens, clients and requests that depend on them. It stores hashes of tokens, never tokens.
 */

import type { SessionId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

/** What the authorization server stores besides grants. `Client`: an agent that registered itself. */
export type OAuthModel =
  | 'Client'
  | 'Interaction'
  | 'AuthorizationCode'
  | 'AccessToken'
  | 'RefreshToken'
  | 'Agent'

export interface OAuthRow {
  /** JSON, sealed at rest. */
  readonly payload: string
  readonly createdAt: Millis
  readonly expiresAt: Millis
  /** For a code or refresh token: when it was redeemed. For a client: when it was last used. */
  readonly usedAt: Millis | null
}

/** How many leading bytes of an origin identify the network. */
export const networkBytes = 16

export interface NewOAuthRow {
  readonly model: OAuthModel
  /**
   * SHA-256 of the model's name and the value that the other side holds; the token itself is never stored.
   */
  readonly id: Uint8Array
  /** The grant that it depends on; null when it has none yet. */
  readonly grantId: Uint8Array | null
  /**
   * Keyed fingerprints of where a client registered or a consent request came from: the network in the first
   * `networkBytes` bytes, then the address. Null for all others.
   */
  readonly origin: Uint8Array | null
  readonly payload: string
  readonly createdAt: Millis
  readonly expiresAt: Millis
}

export interface NewOAuthGrant {
  readonly id: Uint8Array
  readonly userId: UserId
  readonly clientId: string
  readonly payload: string
  readonly createdAt: Millis
  readonly expiresAt: Millis
}

/** An agent that can still act for a user. */
export interface OAuthAgentRow {
  readonly grantId: Uint8Array
  readonly clientId: string
  /** Null: it does not open. */
  readonly payload: string | null
  readonly createdAt: Millis
  /** Exact to the minute; null: it was never used. */
  readonly lastUsedAt: Millis | null
}

/** A list has at most this many connected agents: the newest ones. */
export const agentsListed = 200

export interface OAuthStore {
  /** Creates a row or replaces its payload and expiry. False, with nothing stored, when its grant is gone. */
  save(row: NewOAuthRow): Promise<boolean>
  /**
   * Creates a request that waits for a person, or replaces its payload and expiry. A new one is stored only
   * while fewer than these bounds wait at `at`, per origin and in total. Calls do not wait for one another:
   * at most as many as run at once may be stored beyond a bound. When the total is reached, the oldest
   * request of the network with the most is deleted instead, unless the new request's own network has about
   * as many.
   */
  savePending(
    row: NewOAuthRow,
    bounds: { readonly at: Millis; readonly ofOrigin: number; readonly inAll: number },
  ): Promise<'kept' | 'origin_full' | 'full'>
  /** Saves while this browser session exists: one transaction locks the session and stores. */
  saveWhile(sessionId: SessionId, row: NewOAuthRow): Promise<boolean>
  /** Includes expired rows that have not been swept yet. @throws SealError when it does not open. */
  find(model: OAuthModel, id: Uint8Array): Promise<OAuthRow | null>
  /** True for exactly one caller, even across concurrent processes. */
  consume(model: OAuthModel, id: Uint8Array, at: Millis): Promise<boolean>
  delete(model: OAuthModel, id: Uint8Array): Promise<void>
  /** Records that a client was used; it is kept until `expiresAt` at least. */
  touchClient(id: Uint8Array, at: Millis, expiresAt: Millis): Promise<void>
  /** Deletes never used clients of this origin, except the newest `keep`. */
  trimClients(origin: Uint8Array, keep: number): Promise<void>
  /** Deletes never used clients beyond `keep`, first of the networks with the most. Returns how many. */
  trimUnusedClients(keep: number): Promise<number>
  /** Creates a grant or replaces its payload and expiry. False when the user is gone or being deleted. */
  saveGrant(grant: NewOAuthGrant): Promise<boolean>
  /** @throws SealError when the payload does not open. */
  findGrant(id: Uint8Array): Promise<(OAuthRow & { readonly userId: UserId }) | null>
  /** Whose the grant is, and for which client, whether or not its payload opens. */
  findParties(id: Uint8Array): Promise<Pick<NewOAuthGrant, 'userId' | 'clientId'> | null>
  /** Deletes the grant and everything that depends on it, at once; false when there was none. */
  deleteGrant(id: Uint8Array): Promise<boolean>
  /** Stores the last use of a grant; called at most once a minute per grant, after the request. */
  touchGrant(id: Uint8Array, at: Millis): Promise<void>
  /** True when the user has a grant to this client. */
  hasGrant(userId: UserId, clientId: string): Promise<boolean>
  /**
   * Ids of the user's grants to one client that have an `Agent` row, newest first. In a transaction the
   * user's row is locked until its end, so that two decisions of a person follow one another.
   */
  listAgentGrants(userId: UserId, clientId: string): Promise<readonly Uint8Array[]>
  /** Newest first, at most `agentsListed`; only those with a code or token that is valid at `at`. */
  listAgents(userId: UserId, at: Millis): Promise<readonly OAuthAgentRow[]>
  /** Deletes at most `limit` rows per table that expired before `at`. Returns how many. */
  sweep(at: Millis, limit: number): Promise<number>
}

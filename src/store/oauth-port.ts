/**
 * What the authorization server asks of the durable store: grants of people to agents, and the codes, tokens, clients
 * and requests that live by them. Instants are milliseconds since the epoch. It keeps hashes of tokens, never tokens.
 */
import type { UserId } from '#kernel/ids.ts'

/** What the authorization server keeps besides grants. `Client`: an agent that registered itself. */
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
  readonly createdAt: number
  readonly expiresAt: number
  /** A code or refresh token: when it was redeemed. A client: when it was last used. */
  readonly usedAt: number | null
}

export interface NewOAuthRow {
  readonly model: OAuthModel
  /** SHA-256 of the model's name and what the other side holds: the token itself is never stored. */
  readonly id: Uint8Array
  /** The grant that it lives by; null for what has none yet. */
  readonly grantId: Uint8Array | null
  /** Keyed fingerprint of the address that a client registered from; null for all others. */
  readonly origin: Uint8Array | null
  readonly payload: string
  readonly createdAt: number
  readonly expiresAt: number
}

export interface NewOAuthGrant {
  readonly id: Uint8Array
  readonly userId: UserId
  readonly clientId: string
  readonly payload: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** An agent that can still do something in a user's name. */
export interface OAuthAgentRow {
  readonly grantId: Uint8Array
  readonly clientId: string
  readonly payload: string
  readonly createdAt: number
}

export interface OAuthStore {
  /** Makes it or replaces its payload and expiry. False when its grant is gone: then nothing is stored. */
  save(row: NewOAuthRow): Promise<boolean>
  /** Also what has expired, until it is swept. */
  find(model: OAuthModel, id: Uint8Array): Promise<OAuthRow | null>
  /** True for exactly one caller, however many processes try at once. */
  consume(model: OAuthModel, id: Uint8Array, at: number): Promise<boolean>
  delete(model: OAuthModel, id: Uint8Array): Promise<void>
  /** A client was used: it is kept until `expiresAt` at least. */
  touchClient(id: Uint8Array, at: number, expiresAt: number): Promise<void>
  /** Deletes the oldest never used clients of this origin beyond the newest `keep`. */
  trimClients(origin: Uint8Array, keep: number): Promise<void>
  /** Makes it or replaces its payload and expiry. False when there is no such user. */
  saveGrant(grant: NewOAuthGrant): Promise<boolean>
  findGrant(id: Uint8Array): Promise<(OAuthRow & { readonly userId: UserId }) | null>
  /** Deletes the grant with everything that lives by it, at once; false when there was none. */
  deleteGrant(id: Uint8Array): Promise<boolean>
  /** Ids of the user's grants to one client, newest first. */
  listGrants(userId: UserId, clientId: string): Promise<readonly Uint8Array[]>
  /** Newest first, at most 200; only those with a code or token that is good at `at`. */
  listAgents(userId: UserId, at: number): Promise<readonly OAuthAgentRow[]>
  /** Deletes at most `limit` rows of each table that expired before `at`; how many it were. */
  sweep(at: number, limit: number): Promise<number>
}

/**
 * What the house asks of its durable store: users, plans, keys, logins, connections, accounts; sessions and grants to
 * agents stand in port files of their own. One implementation on SQLite and PostgreSQL. It holds the links and the keys
 * to them, never the money data. Instants are milliseconds since the epoch. Whatever is asked for on behalf of a user
 * names that user: what is not theirs is not found.
 */
import type { AccountType, ConnectionStatus, Provider } from '#contract/resources.ts'
import type { AccountId, ConnectionId, KeyId, LoginId, UpstreamId, UserId } from '#kernel/ids.ts'
import type { OAuthStore } from './oauth-port.ts'
import type { SessionStore } from './session-port.ts'

export type PlanName = 'developer' | 'professional' | 'none'
export type PlanStatus = 'active' | 'trialing' | 'past_due' | 'canceled'

/** A subscription as the operator set it; `plan` null: none was ever set, `DEFAULT_PLAN` holds. */
export interface PlanRow {
  readonly plan: PlanName | null
  readonly status: PlanStatus
  /** Legacy cut-off; access ends 14 days after it (reading R25). */
  readonly legacyUntil: number | null
  readonly grandfathered: boolean
}

export interface UserRow extends PlanRow {
  readonly id: UserId
  /** As given, trimmed; compared without regard to case. */
  readonly email: string
  /** How the person wants to be called; null: never told. */
  readonly name: string | null
  /** IANA name; null: the default of the contract holds. */
  readonly timezone: string | null
  readonly createdAt: number
}

export interface KeyRow {
  readonly id: KeyId
  readonly userId: UserId
  readonly name: string
  /** The first characters, safe to show, e.g. `trib_live_0CiOts`. */
  readonly prefix: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly lastUsedAt: number | null
}

/** Everything a request needs to know of whoever holds a key: one indexed read. */
export interface CallerRow extends PlanRow {
  readonly keyId: KeyId
  readonly userId: UserId
  readonly timezone: string | null
  /** Grows with every change that makes cached answers of this user worthless (reading R10). */
  readonly epoch: number
  readonly expiresAt: number | null
}

/** What a request needs to know of a user who came with an agent's token. */
export interface UserAccessRow extends PlanRow {
  readonly userId: UserId
  readonly timezone: string | null
  readonly epoch: number
}

export interface LoginRow {
  readonly id: LoginId
  readonly userId: UserId
  readonly provider: Provider
  readonly upstreamUserId: string
  /** Opened with the encryption key of this process; null where there is none. */
  readonly secret: string | null
}

/** `deleting` exists only inside: such connections and their accounts are never returned to users. */
export type StoredStatus = ConnectionStatus | 'deleting'

export interface ConnectionRow {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly loginId: LoginId
  readonly provider: Provider
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  readonly institutionName: string
  readonly institutionLogo: string | null
  readonly status: StoredStatus
  readonly lastRefreshedAt: number | null
  readonly createdAt: number
}

export interface AccountRow {
  readonly id: AccountId
  readonly connectionId: ConnectionId
  readonly userId: UserId
  readonly provider: Provider
  readonly institutionName: string
  readonly upstreamId: UpstreamId
  readonly name: string
  readonly type: AccountType
  /** Masked (`xxxx1234`) before it comes here. */
  readonly accountNumber: string | null
  readonly currency: string
}

export interface NewUser extends PlanRow {
  readonly email: string
  readonly name?: string | null
  /** A PHC string; absent for users who only have keys. */
  readonly passwordHash?: string | null
  readonly timezone: string | null
  readonly createdAt: number
}

export interface UserStore {
  /** 'taken' when the e-mail address has an account already. */
  create(user: NewUser): Promise<UserRow | 'taken'>
  list(): Promise<readonly UserRow[]>
  /** By id or e-mail address. */
  find(idOrEmail: string): Promise<UserRow | null>
  /** Plan, zone and epoch in one read; null when there is no such user. */
  findAccess(id: UserId): Promise<UserAccessRow | null>
  setPlan(id: UserId, plan: PlanRow): Promise<UserRow | null>
  setTimezone(id: UserId, timezone: string | null): Promise<UserRow | null>
  /**
   * Takes away, in one transaction, everything by which somebody could still act or read in the user's name: keys are
   * revoked, sessions, agents' grants and the password are gone, connections are `deleting`. False when there is none.
   */
  disarm(id: UserId, at: number): Promise<boolean>
  /** Deletes the user with everything of theirs; false when there was none. */
  delete(id: UserId): Promise<boolean>
}

export interface NewKey {
  readonly userId: UserId
  readonly name: string
  readonly prefix: string
  /** SHA-256 of the whole key: the key itself is never stored. */
  readonly hash: Uint8Array
  readonly createdAt: number
  readonly expiresAt: number | null
}

export interface KeyStore {
  create(key: NewKey): Promise<KeyRow>
  /**
   * As `create`, unless the user has `maxActive` keys already that are neither revoked nor expired when this one is
   * made: then 'full'. However many are made at once, there are never more. Null when there is no such user.
   */
  createWithin(key: NewKey, maxActive: number): Promise<KeyRow | 'full' | null>
  list(userId: UserId): Promise<readonly KeyRow[]>
  /** Revoking twice keeps the first time; null when there is no such key. */
  revoke(id: KeyId, at: number): Promise<KeyRow | null>
  /** Null when unknown or revoked; an expired key is returned, its `expiresAt` tells. */
  findCaller(hash: Uint8Array): Promise<CallerRow | null>
  /** Remembers the last use; called at most once a minute per key, off the request path. */
  touch(id: KeyId, at: number): Promise<void>
}

export interface LoginStore {
  /** Makes it or replaces its secret, keyed by (user, provider, upstream user). */
  save(login: {
    readonly userId: UserId
    readonly provider: Provider
    readonly upstreamUserId: string
    readonly secret: string | null
  }): Promise<LoginRow>
  /** @throws SealError when its secret does not open: the row was damaged or moved. */
  get(id: LoginId): Promise<LoginRow | null>
  /** @throws SealError when one of the secrets does not open. */
  list(userId: UserId): Promise<readonly LoginRow[]>
  /** In the order of `list`; opens no secret, so that a damaged one hides none of the others. */
  listIds(userId: UserId): Promise<readonly LoginId[]>
  /** Forgets the login and its secret, and with it every connection that still stands on it. */
  delete(id: LoginId): Promise<void>
}

export interface NewConnection {
  readonly userId: UserId
  readonly loginId: LoginId
  readonly provider: Provider
  readonly upstreamId: UpstreamId
  readonly institutionId: string
  readonly institutionName: string
  readonly institutionLogo: string | null
  readonly status: ConnectionStatus
  readonly lastRefreshedAt: number | null
  readonly createdAt: number
}

export interface NewAccount {
  readonly upstreamId: UpstreamId
  /** Where the provider moved the account from, its former id: our id stays. */
  readonly previousUpstreamId: UpstreamId | null
  readonly name: string
  readonly type: AccountType
  readonly accountNumber: string | null
  readonly currency: string
}

export interface ConnectionStore {
  /** Without `deleting`; newest first, equal times by id descending (reading R16b). */
  list(userId: UserId): Promise<readonly ConnectionRow[]>
  /** The user's own, without `deleting`. */
  get(userId: UserId, id: ConnectionId): Promise<ConnectionRow | null>
  /** For operators: whoever's it is, `deleting` included. */
  find(id: ConnectionId): Promise<ConnectionRow | null>
  /** Every connection of a login, `deleting` included. */
  listByLogin(loginId: LoginId): Promise<readonly ConnectionRow[]>
  /** Whoever's are `deleting`, in the order of their ids; only those behind `after`, at most `limit`. */
  listDeleting(page: {
    readonly after: ConnectionId | null
    readonly limit: number
  }): Promise<readonly ConnectionRow[]>
  /** Makes it, or updates the one with the same (user, provider, upstream id); a former `deleting` one is kept out. */
  save(connection: NewConnection): Promise<ConnectionRow>
  /** The provider gave the same link a new id (a renewed consent): ours stays. */
  repoint(id: ConnectionId, upstreamId: UpstreamId): Promise<void>
  /** Changes nothing and bumps nothing when it has that status already. `deleting` is final: nothing follows it. */
  setStatus(id: ConnectionId, status: StoredStatus): Promise<void>
  /** Only ever forward in time. */
  setRefreshed(id: ConnectionId, at: number): Promise<void>
  /** Deletes the connection and its accounts. */
  delete(id: ConnectionId): Promise<void>
}

export interface AccountStore {
  /** Every account of the user, without those on `deleting` connections; in no order. */
  list(userId: UserId): Promise<readonly AccountRow[]>
  listByConnection(userId: UserId, connectionId: ConnectionId): Promise<readonly AccountRow[]>
  /**
   * Makes the connection's accounts equal to `accounts`: known ones (by upstream id, or by their former one) keep our
   * id, missing ones are hidden and get their id back when they return. Of a connection that is gone or being deleted
   * nothing is written and the answer is empty.
   */
  replace(
    connectionId: ConnectionId,
    accounts: readonly NewAccount[],
  ): Promise<readonly AccountRow[]>
}

export interface AuditEntry {
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly userId: UserId | null
  /** Ids and names only, never a secret and never money data. */
  readonly subject: string
}

/**
 * Somebody's rows changed: what processes remember of this user is to be forgotten. `userId` null: changes may have
 * been missed (the line to the database was down), so what is remembered of anybody is to be forgotten.
 */
export interface StoreChange {
  readonly userId: UserId | null
}

/** The store as a whole, as it is at this moment. */
export interface StoreCondition {
  readonly engine: 'sqlite' | 'postgres'
  readonly version: string
  /** Names of the migrations that ran on it, in their order. */
  readonly migrations: readonly string[]
  /** How many of them this code does not know: a newer version has migrated the store since it was opened. */
  readonly unknownMigrations: number
  /** The server's own time, in milliseconds since the epoch; null where the store has no clock of its own. */
  readonly theirTimeMs: number | null
}

/** A connection that its person or the provider must do something about, and whose it is. */
export interface TroubledConnection {
  readonly id: ConnectionId
  readonly email: string
  readonly provider: Provider
  readonly institutionName: string
  readonly status: Exclude<StoredStatus, 'active'>
}

/** What operators ask of the store as a whole; nothing of it is on the path of a request. */
export interface StoreInspector {
  /** Proves with a write, which changes nothing, that the store takes one. */
  examine(): Promise<StoreCondition>
  /** Rows that are sealed under another key than the first; counted up to `limit` a table. */
  countAged(limit: number): Promise<number>
  countConnections(): Promise<Readonly<Record<StoredStatus, number>>>
  /** Those that are not `active`, by age; at most `limit`. */
  listTroubled(limit: number): Promise<readonly TroubledConnection[]>
}

export interface Store {
  readonly users: UserStore
  readonly keys: KeyStore
  readonly logins: LoginStore
  readonly connections: ConnectionStore
  readonly accounts: AccountStore
  readonly oauth: OAuthStore
  readonly sessions: SessionStore
  readonly inspector: StoreInspector
  audit(entry: AuditEntry): Promise<void>
  /**
   * Called after every committed change of a user's plan, timezone, keys, connections or accounts: in this process at
   * once, on PostgreSQL also for changes of other processes (LISTEN/NOTIFY). Returns the unsubscriber.
   */
  onChange(listener: (change: StoreChange) => void): () => void
  /** Resolves when the store answers. */
  ping(): Promise<void>
  close(): Promise<void>
}

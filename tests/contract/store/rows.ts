/**
 * Rows that tests put into a store: plain people, their keys, logins, connections and accounts. Every call
 * makes something new; what a test is about, it says itself.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import type { NewAccount } from '#connections/discovery/match-accounts.ts'
import { planAccounts } from '#connections/discovery/plan-accounts.ts'
import {
  type ConnectionId,
  type LoginId,
  newId,
  type SessionId,
  type UpstreamId,
  type UserId,
  upstreamId,
} from '#kernel/ids.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow, NewConnection } from '#store/ports/connections.ts'
import type { KeyRow, NewKey } from '#store/ports/keys.ts'
import type { NewLinking } from '#store/ports/linkings.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { NewOAuthGrant, NewOAuthRow } from '#store/ports/oauth.ts'
import type { AnsweredChallenge, NewPasskey } from '#store/ports/passkeys.ts'
import type { SessionRow } from '#store/ports/sessions.ts'
import type { Store } from '#store/ports/store.ts'
import type { NewUser, UserRow } from '#store/ports/users.ts'

/** 20 November 2026, with milliseconds that must not get lost. */
export const now = Date.UTC(2026, 10, 20, 3, 15, 0, 123)

export function newUser(over: Partial<NewUser> = {}): NewUser {
  return {
    email: `${randomUUID()}@example.test`,
    name: 'Aroha',
    timezone: null,
    createdAt: now,
    plan: 'developer',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    ...over,
  }
}

export async function addUser(store: Store, over: Partial<NewUser> = {}): Promise<UserRow> {
  const user = await store.users.create(newUser(over))
  if (user === 'taken') throw new Error('the address of the test is taken')
  return user
}

/** What `addSession` takes for the hash of the user's password. */
export const somePassword = '$argon2id$some'

/** A session of a user who was added with `somePassword`. */
export async function addSession(
  store: Store,
  userId: UserId,
  over: Partial<Parameters<Store['sessions']['create']>[0]> = {},
): Promise<SessionRow> {
  const session = {
    userId,
    hash: someHash(),
    at: now,
    passwordHash: somePassword,
    ...over,
  }
  const row = await store.sessions.create(session)
  if (row === null) throw new Error('the user of the test has another password')
  return row
}

export function newKey(userId: UserId, over: Partial<NewKey> = {}): NewKey {
  return {
    userId,
    name: 'laptop',
    prefix: 'trib_live_0CiOts',
    hash: new Uint8Array(randomBytes(32)),
    createdAt: now,
    expiresAt: null,
    ...over,
  }
}

export const someChallenge = (): AnsweredChallenge => ({
  hash: someHash(),
  expiresAt: now + 3_600_000,
})

export function newPasskey(userId: UserId, over: Partial<NewPasskey> = {}): NewPasskey {
  return {
    userId,
    credentialId: new Uint8Array(randomBytes(32)),
    publicKey: new Uint8Array(randomBytes(77)),
    name: 'laptop',
    signCount: 0,
    transports: ['internal', 'hybrid'],
    createdAt: now,
    challenge: someChallenge(),
    codeHashes: [someHash(), someHash()],
    ...over,
  }
}

/** A key with its hash, which the store never gives back. */
export async function addKey(
  store: Store,
  userId: UserId,
  over: Partial<NewKey> = {},
): Promise<KeyRow & { readonly hash: Uint8Array }> {
  const key = newKey(userId, over)
  return { ...(await store.keys.create(key)), hash: key.hash }
}

export function addLogin(store: Store, userId: UserId, secret = 'secret'): Promise<LoginRow> {
  return store.logins.save({ userId, provider: 'akahu', upstreamUserId: randomUUID(), secret })
}

export function newConnection(
  userId: UserId,
  loginId: LoginId,
  over: Partial<NewConnection> = {},
): NewConnection {
  return {
    userId,
    loginId,
    provider: 'akahu',
    upstreamId: someUpstreamId(),
    institutionId: 'inst-1',
    institutionName: 'Kōwhai Bank',
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: null,
    createdAt: now,
    consentExpiresAt: null,
    ...over,
  }
}

/** A user with a login and one connection. */
export async function addLink(
  store: Store,
  over: Partial<NewConnection> = {},
): Promise<{ user: UserRow; login: LoginRow; connection: ConnectionRow }> {
  const user = await addUser(store)
  const login = await addLogin(store, user.id)
  const connection = await store.connections.save(newConnection(user.id, login.id, over))
  return { user, login, connection }
}

/** A link that was begun a moment ago and is open for a second. */
export function newLinking(over: Pick<NewLinking, 'userId' | 'loginId'>): NewLinking {
  return {
    id: someHash(),
    sessionId: newId<SessionId>(),
    provider: 'akahu',
    institutionId: null,
    connectionId: null,
    createdAt: now,
    expiresAt: now + 1000,
    ...over,
  }
}

export function newAccount(over: Partial<NewAccount> = {}): NewAccount {
  return {
    upstreamId: someUpstreamId(),
    previousUpstreamId: null,
    name: 'Everyday',
    type: 'transaction',
    accountNumber: 'xxxx1234',
    currency: 'NZD',
    ...over,
  }
}

/** Makes the accounts of the connection equal to these, as a refresh does. */
export function replaceAccounts(
  store: Pick<Store, 'accounts'>,
  connectionId: ConnectionId,
  accounts: readonly NewAccount[],
  options?: { readonly at: number },
): Promise<readonly AccountRow[]> {
  return store.accounts.replace(connectionId, planAccounts(accounts), options)
}

export function someUpstreamId(): UpstreamId {
  return upstreamId(`up_${randomUUID()}`)
}

/** An agent's grant, good for a day. */
export async function addGrant(
  store: Store,
  userId: UserId,
  over: Partial<NewOAuthGrant> = {},
): Promise<NewOAuthGrant> {
  const grant = {
    id: someHash(),
    userId,
    clientId: 'agent',
    payload: `{"grant":"${randomUUID()}"}`,
    createdAt: now,
    expiresAt: now + 86_400_000,
    ...over,
  }
  if (!(await store.oauth.saveGrant(grant))) throw new Error('the user of the test is unknown')
  return grant
}

/** An access token, by default without a grant, valid for a minute. */
export function newOAuthRow(over: Partial<NewOAuthRow> = {}): NewOAuthRow {
  return {
    model: 'AccessToken',
    id: someHash(),
    grantId: null,
    origin: null,
    payload: `{"row":"${randomUUID()}"}`,
    createdAt: now,
    expiresAt: now + 60_000,
    ...over,
  }
}

export async function addOAuthRow(
  store: Store,
  over: Partial<NewOAuthRow> = {},
): Promise<NewOAuthRow> {
  const row = newOAuthRow(over)
  if (!(await store.oauth.save(row))) throw new Error('the grant of the test is unknown')
  return row
}

export function someHash(): Uint8Array {
  return new Uint8Array(randomBytes(32))
}

/** The user's epoch, as a request sees it. */
export async function epochOf(store: Store, hash: Uint8Array): Promise<number> {
  const caller = await store.keys.findCaller(hash)
  if (caller === null) throw new Error('the key of the test is unknown')
  return caller.epoch
}

/**
 * The demo of sandbox mode: one user per plan, linked to people without a fault in the emulators, with a key
 * and a password. Both are derived from the encryption key, so every start over one store prints the
 * same ones, from whichever folder, and none is stored as text. They give access to made-up data only.
 */
import { createHmac } from 'node:crypto'
import type { UserActions } from '#auth/actions.ts'
import { mintKey } from '#auth/keys.ts'
import { makePasswords } from '#auth/sign-in/password.ts'
import type { Connections } from '#connections/connections.ts'
import { bySystem } from '#contract/actor.ts'
import { demoDomain } from '#contract/email.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { Credentials } from '#providers/credentials.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { Sandbox } from './start.ts'

export interface DemoUser {
  readonly plan: 'developer' | 'professional'
  readonly email: string
  readonly key: string
}

export interface Demo {
  readonly users: readonly DemoUser[]
  /** Every demo user signs in with it. */
  readonly password: string
  /** A banking connection of the first user, and an account on it, for the printed request. */
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
}

export interface DemoOptions {
  readonly store: Pick<StoreReader, 'users' | 'keys' | 'accounts' | 'sessions'>
  readonly actions: Pick<UserActions, 'createUser' | 'setPassword' | 'createKey'>
  readonly connections: Pick<Connections, 'linkConnections'>
  readonly sandbox: Pick<Sandbox, 'person'>
  /** A subkey of the encryption key with no other use: every process over one store has the same. */
  readonly secret: Uint8Array
}

const plans = ['professional', 'developer'] as const

/** Makes the demo users, or finds those of another start. Several processes may do so at once. */
export async function prepareDemo(options: DemoOptions): Promise<Demo> {
  const password = toPassword(draw(options.secret, 'password'))
  const users: DemoUser[] = []
  for (const plan of plans) {
    const user = await findUser(options, plan)
    for (const credentials of personOf(options, plan)) {
      await options.connections.linkConnections(bySystem, user.id, credentials)
    }
    await givePassword(options, user.id, password)
    users.push({ plan, email: user.email, key: await findKey(options, user.id) })
  }
  return { users, password, ...(await findExample(options)) }
}

/**
 * Of a provider that counts the calls of a day each user has a person of their own: as two users of one
 * person they would take them from each other.
 */
function personOf({ sandbox }: DemoOptions, plan: DemoUser['plan']): readonly Credentials[] {
  const healthy = sandbox.person('healthy')
  if (plan === plans[0]) return healthy
  const isCounted = ({ provider }: Credentials) => {
    const { budget, accountBudget } = factsOf(provider)
    return budget?.isDurable === true || accountBudget?.isDurable === true
  }
  return [...healthy.filter((one) => !isCounted(one)), ...sandbox.person('twins').filter(isCounted)]
}

/** 32 bytes for one use, which show neither the secret nor what was drawn for another use. */
function draw(secret: Uint8Array, use: string): Uint8Array {
  return createHmac('sha256', secret).update(use).digest()
}

function findUser({ store, actions }: DemoOptions, plan: DemoUser['plan']): Promise<UserRow> {
  const email = `${plan}@${demoDomain}`
  return findOrMake(
    () => store.users.find(email),
    () => actions.createUser(bySystem, { email, plan }),
  )
}

/** What another process made in between is found after all. */
async function findOrMake<Row>(
  find: () => Promise<Row | null>,
  make: () => Promise<Row>,
): Promise<Row> {
  const known = await find()
  if (known !== null) return known
  try {
    return await make()
  } catch (error) {
    const theirs = await find()
    if (theirs === null) throw error
    return theirs
  }
}

/** Sets the password only when it differs, because setting it ends the user's sessions. */
async function givePassword(options: DemoOptions, userId: UserId, password: string): Promise<void> {
  const stored = await options.store.sessions.findPassword(userId)
  if (stored !== null && (await makePasswords().check(password, stored))) return
  await options.actions.setPassword(bySystem, userId, { password })
}

/** Without letters and digits that look alike, since people type it from a terminal. */
const passwordLetters = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Twelve characters in three groups, e.g. `k7dm-x2pq-9ntr`. */
function toPassword(bytes: Uint8Array): string {
  const group = (from: number) =>
    Array.from(
      bytes.subarray(from, from + 4),
      (byte) => passwordLetters[byte % passwordLetters.length],
    ).join('')
  return [group(0), group(4), group(8)].join('-')
}

const keyName = 'Demo'

/** The key that opens this user's data. A revoked key stays revoked: the next one is drawn from its id. */
async function findKey({ store, actions, secret }: DemoOptions, userId: UserId): Promise<string> {
  const keys = await store.keys.list(userId)
  // Newest first.
  const revoked = keys.find(({ name, revokedAt }) => name === keyName && revokedAt !== null)
  const minted = mintKey(draw(secret, `key ${revoked?.id ?? userId}`))
  await findOrMake<object>(
    () => store.keys.findCaller(minted.hash),
    () => actions.createKey(bySystem, userId, { name: keyName }, minted),
  )
  return minted.key
}

async function findExample(
  options: DemoOptions,
): Promise<Pick<Demo, 'connectionId' | 'accountId'>> {
  const user = await options.store.users.find(`${plans[0]}@${demoDomain}`)
  if (user === null) throw new Error('the demo user is gone')
  const accounts = await options.store.accounts.list(user.id)
  const account = accounts.find((row) => row.provider === 'fiskil' && row.type === 'transaction')
  if (account === undefined) throw new Error('the demo user has no bank account')
  return { connectionId: account.connectionId, accountId: account.id }
}

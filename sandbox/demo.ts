/**
 * The demo of sandbox mode: one user per plan, linked to every person without a fault in the emulators, with a key and a
 * password that stay the same over restarts. They give access to made-up data only, so they may be stored in a file beside the
 * sandbox's store.
 */
import { randomInt } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { UserActions } from '#auth/actions.ts'
import { hashKey, isKeyShaped } from '#auth/keys.ts'
import { makePasswords } from '#auth/sign-in/password.ts'
import type { Connections } from '#connections/connections.ts'
import { bySystem } from '#contract/actor.ts'
import { demoDomain } from '#contract/email.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
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

export interface DemoDeps {
  readonly store: Pick<StoreReader, 'users' | 'keys' | 'accounts' | 'sessions'>
  readonly actions: UserActions
  readonly connections: Connections
  readonly sandbox: Sandbox
  /** Where the keys are remembered. */
  readonly folder: string
}

const plans = ['professional', 'developer'] as const

/** Makes the demo users, or finds those of an earlier start. */
export async function prepareDemo(deps: DemoDeps): Promise<Demo> {
  const file = join(deps.folder, 'demo-keys.json')
  const remembered = await readKeys(file)
  const password = isPassword(remembered.password) ? remembered.password : makePassword()
  const users: DemoUser[] = []
  for (const plan of plans) {
    const user = await findUser(deps, plan)
    for (const credentials of deps.sandbox.person('healthy')) {
      await deps.connections.linkConnections(bySystem, user.id, credentials)
    }
    await givePassword(deps, user.id, password)
    const key = await findKey(deps, user.id, remembered[plan])
    users.push({ plan, email: user.email, key })
  }
  const keys = Object.fromEntries(users.map((user) => [user.plan, user.key]))
  await writeKeys(file, { ...keys, password })
  return { users, password, ...(await findExample(deps)) }
}

async function findUser(deps: DemoDeps, plan: DemoUser['plan']): Promise<UserRow> {
  const email = `${plan}@${demoDomain}`
  const known = await deps.store.users.find(email)
  if (known !== null) return known
  return deps.actions.createUser(bySystem, { email, plan })
}

/** Sets the password only when it differs, because setting it ends the user's sessions. */
async function givePassword(deps: DemoDeps, userId: UserId, password: string): Promise<void> {
  const stored = await deps.store.sessions.findPassword(userId)
  if (stored !== null && (await makePasswords().check(password, stored))) return
  await deps.actions.setPassword(bySystem, userId, { password })
}

/** Without letters and digits that look alike, since people type it from a terminal. */
const passwordLetters = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Twelve characters in three groups, e.g. `k7dm-x2pq-9ntr`. */
function makePassword(): string {
  const group = () =>
    Array.from({ length: 4 }, () => passwordLetters[randomInt(passwordLetters.length)]).join('')
  return [group(), group(), group()].join('-')
}

function isPassword(remembered: unknown): remembered is string {
  return typeof remembered === 'string' && /^(?:[a-z2-9]{4}-){2}[a-z2-9]{4}$/.test(remembered)
}

/** The remembered key if it still opens this user's data, else a new one. */
async function findKey(deps: DemoDeps, userId: UserId, remembered: unknown): Promise<string> {
  if (typeof remembered === 'string' && isKeyShaped(remembered)) {
    const caller = await deps.store.keys.findCaller(hashKey(remembered))
    if (caller?.userId === userId) return remembered
  }
  await makeRoom(deps, userId)
  return (await deps.actions.createKey(bySystem, userId, { name: keyName })).key
}

const keyName = 'Demo'
/** A user has twenty keys at most, and keys of earlier starts whose file was lost count too. */
const maxDemoKeys = 10

async function makeRoom({ store, actions }: DemoDeps, userId: UserId): Promise<void> {
  const all = await store.keys.list(userId)
  const ours = all.filter(({ name, revokedAt }) => name === keyName && revokedAt === null)
  // Newest first, so the oldest are revoked.
  for (const { id } of ours.slice(maxDemoKeys - 1)) await actions.revokeKey(bySystem, id)
}

async function findExample(deps: DemoDeps): Promise<Pick<Demo, 'connectionId' | 'accountId'>> {
  const user = await deps.store.users.find(`${plans[0]}@${demoDomain}`)
  if (user === null) throw new Error('the demo user is gone')
  const accounts = await deps.store.accounts.list(user.id)
  const account = accounts.find((row) => row.provider === 'fiskil' && row.type === 'transaction')
  if (account === undefined) throw new Error('the demo user has no bank account')
  return { connectionId: account.connectionId, accountId: account.id }
}

async function readKeys(file: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    // Absent or damaged: new keys are created; a sandbox loses nothing by it.
    return {}
  }
}

async function writeKeys(file: string, keys: Readonly<Record<string, string>>): Promise<void> {
  const draft = `${file}.new`
  // With PostgreSQL nothing else creates the folder.
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, file)
}

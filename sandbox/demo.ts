/**
 * The demo of sandbox mode: one user per plan, linked to everybody healthy in the emulators, with a key and a password
 * that stay the same over restarts. They open nothing but made-up data, so they may be kept in a file beside the
 * sandbox's store.
 */
import { randomInt } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makePasswords } from '#auth/accounts/password.ts'
import { hashKey, isKeyShaped, mintKey } from '#auth/keys.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Links } from '#links/links.ts'
import type { Store, UserRow } from '#store/port.ts'
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
  readonly store: Store
  readonly links: Links
  readonly sandbox: Sandbox
  readonly clock: Clock
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
      await deps.links.linkConnections(user.id, credentials)
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
  const email = `${plan}@demo.example`
  const known = await deps.store.users.find(email)
  if (known !== null) return known
  const made = await deps.store.users.create({
    email,
    timezone: null,
    plan,
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    createdAt: deps.clock.now(),
  })
  if (made === 'taken') throw new Error(`${email} was taken meanwhile`)
  return made
}

/** Sets it where it is not the user's already: setting it ends their sessions. */
async function givePassword({ store }: DemoDeps, userId: UserId, password: string): Promise<void> {
  const passwords = makePasswords()
  const stored = await store.sessions.findPassword(userId)
  if (stored !== null && (await passwords.check(password, stored))) return
  await store.sessions.setPassword(userId, await passwords.hash(password))
  await store.sessions.deleteAll(userId)
}

/** Without letters and digits that look alike: it is typed from a terminal. */
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
  const minted = mintKey()
  await deps.store.keys.create({
    userId,
    name: 'Demo',
    prefix: minted.prefix,
    hash: minted.hash,
    createdAt: deps.clock.now(),
    expiresAt: null,
  })
  return minted.key
}

async function findExample(deps: DemoDeps): Promise<Pick<Demo, 'connectionId' | 'accountId'>> {
  const user = await deps.store.users.find(`${plans[0]}@demo.example`)
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
    // Absent or damaged: new keys are made, which costs nothing in a sandbox.
    return {}
  }
}

async function writeKeys(file: string, keys: Readonly<Record<string, string>>): Promise<void> {
  const draft = `${file}.new`
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, file)
}

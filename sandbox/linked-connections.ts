/**
 * Tributary's connections to a person of the sandbox. After a person's consent or login has changed they
 * are refreshed, as a provider's webhook would do, so that the change is visible at once.
 */

import type { Connections } from '#connections/connections.ts'
import { byOperator, bySystem } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { SandboxCommand } from './commands.ts'
import type { SandboxProvider } from './magic-users.ts'

export interface AdoptedOptions {
  readonly store: Pick<StoreReader, 'users' | 'logins' | 'connections'>
  readonly connections: Connections
}

/** Somebody at a provider, as logins name them. */
export interface Person {
  readonly provider: SandboxProvider
  readonly upstreamUserId: string
}

/** What a command shows of a connection. */
export interface Adopted {
  readonly id: string
  readonly provider: string
  readonly institutionName: string
  readonly status: string
  /** False: the provider did not answer, so the status is the previous one. */
  readonly refreshed: boolean
}

/** A sandbox has few users; beyond this number, refresh connections manually. */
const maxLogins = 1_000

export type CommandNote = SandboxCommand & {
  /** People whose rows or states have changed: cached answers about their connections are invalidated. */
  readonly people: readonly Person[]
  /** Their connections need a second factor from now on. */
  readonly challenges?: boolean
}

/** Applies what a command has changed to Tributary. */
export async function noteCommand(
  { store, connections }: AdoptedOptions,
  { action, details, people, challenges = false }: CommandNote,
): Promise<void> {
  const rows = (await listAdopted(store, people)).flat()
  await connections.noteChange(byOperator, {
    action,
    details,
    outdated: [...new Set(rows.map(({ userId }) => userId))],
    challenged: challenges ? rows.map(({ id }) => id) : [],
  })
}

/** Refreshes every connection of these people from the provider. */
export async function refreshAdopted(
  options: AdoptedOptions,
  people: readonly Person[],
): Promise<readonly Adopted[]> {
  const reported: Adopted[] = []
  for (const rows of await listAdopted(options.store, people)) {
    const refreshed = await refresh(options.connections, rows)
    for (const { id } of rows) {
      const row = await options.store.connections.find(id)
      if (row !== null && row.status !== 'deleting') reported.push(toAdopted(row, refreshed))
    }
  }
  return reported
}

/** Every connection of these people as stored; no provider is called. */
export async function describeAdopted(
  { store }: Pick<AdoptedOptions, 'store'>,
  people: readonly Person[],
): Promise<readonly Adopted[]> {
  return (await listAdopted(store, people)).flat().map((row) => toAdopted(row, false))
}

/** By login; each list has at least one connection. */
async function listAdopted(
  store: AdoptedOptions['store'],
  people: readonly Person[],
): Promise<readonly (readonly ConnectionRow[])[]> {
  const wanted = new Set(
    people.map(({ provider, upstreamUserId }) => `${provider} ${upstreamUserId}`),
  )
  const found: ConnectionRow[][] = []
  for (const user of await store.users.list()) {
    for (const login of await store.logins.list(user.id)) {
      if (!wanted.has(`${login.provider} ${login.upstreamUserId}`)) continue
      const all = await store.connections.listByLogin(login.id)
      const living = all.filter(({ status }) => status !== 'deleting')
      if (living.length > 0) found.push(living)
      if (found.length >= maxLogins) return found
    }
  }
  return found
}

/** One call refreshes every connection of the login. False when the provider does not answer. */
async function refresh(
  connections: Connections,
  [first]: readonly ConnectionRow[],
): Promise<boolean> {
  if (first === undefined) return false
  try {
    // As if its person had pressed Refresh: what was read before the command is out of date.
    const person = { address: '127.0.0.1', headers: {} }
    await connections.refreshConnection(bySystem, first.id, { priority: 'user', person })
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

function toAdopted(row: ConnectionRow, refreshed: boolean): Adopted {
  const { id, provider, institutionName, status } = row
  return { id, provider, institutionName, status, refreshed }
}

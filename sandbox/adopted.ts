/**
 * The connections of Tributary that stand on a person of the sandbox. After a person's consent or login has changed they
 * are asked again, as the provider's webhook would bring about, so that the change is seen at once.
 */
import { ApiError } from '#contract/errors.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { Links } from '#links/links.ts'
import type { ConnectionRow, Store } from '#store/port.ts'
import type { SandboxProvider } from './magic-users.ts'

export interface AdoptedDeps {
  readonly store: Store
  readonly links: Links
}

/** Somebody at a provider, as logins name them. */
export interface Person {
  readonly provider: SandboxProvider
  readonly upstreamUserId: string
}

/** What a command tells of a connection. */
export interface Adopted {
  readonly id: string
  readonly provider: string
  readonly institutionName: string
  readonly status: string
  /** False: the provider did not answer, so the status is the one of before. */
  readonly refreshed: boolean
}

/** A sandbox has few users; whoever fills it with more than this refreshes by hand. */
const maxLogins = 1_000

/** Asks the provider again about every link on these people. */
export async function refreshAdopted(
  deps: AdoptedDeps,
  people: readonly Person[],
): Promise<readonly Adopted[]> {
  const told: Adopted[] = []
  for (const rows of await listAdopted(deps.store, people)) {
    const refreshed = await refresh(deps.links, rows)
    for (const { id } of rows) {
      const row = await deps.store.connections.find(id)
      if (row !== null && row.status !== 'deleting') told.push(toAdopted(row, refreshed))
    }
  }
  return told
}

/** Writes a status into our store that no provider can tell of; withdrawn links stay as they are. */
export async function markAdopted(
  deps: AdoptedDeps,
  people: readonly Person[],
  status: ConnectionStatus,
): Promise<readonly Adopted[]> {
  const told: Adopted[] = []
  for (const row of (await listAdopted(deps.store, people)).flat()) {
    if (row.status !== 'revoked') await deps.store.connections.setStatus(row.id, status)
    const now = await deps.store.connections.find(row.id)
    if (now !== null && now.status !== 'deleting') told.push(toAdopted(now, false))
  }
  return told
}

/** By login; each list has at least one connection. */
async function listAdopted(
  store: Store,
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

/** One question answers for every connection of the login. False when the provider does not answer. */
async function refresh(links: Links, [first]: readonly ConnectionRow[]): Promise<boolean> {
  if (first === undefined) return false
  try {
    await links.refreshConnection(first.id, { priority: 'user' })
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

/**
 * Compares the stored connections of a login with those that its provider lists now: which are known, which are new,
 * which are missing. It changes nothing. A connection keeps its id when the provider renews it under another one.
 */
import type { ConnectionId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'

export interface Reconciliation {
  /** A stored connection and its current state. The upstream ids differ when the provider issued a new one. */
  readonly known: readonly { readonly row: ConnectionRow; readonly found: DiscoveredConnection }[]
  readonly unknown: readonly DiscoveredConnection[]
  readonly absent: readonly ConnectionRow[]
}

/** A stored connection of the login, except `deleting` ones, with its accounts. */
export interface HeldConnection {
  readonly row: ConnectionRow
  readonly accounts: readonly AccountRow[]
}

/** Reads the stored connections of a login; newest first. */
export async function holdConnections(
  store: StoreRows,
  login: LoginRow,
): Promise<HeldConnection[]> {
  const rows = await store.connections.listByLogin(login.id)
  const held: HeldConnection[] = []
  for (const row of rows) {
    if (row.status === 'deleting') continue
    held.push({ row, accounts: await store.accounts.listByConnection(login.userId, row.id) })
  }
  return held
}

/** Matches by the provider's id first, then the rest by `isRenewal`; each side is matched at most once. */
export function reconcile(
  held: readonly HeldConnection[],
  discovered: readonly DiscoveredConnection[],
): Reconciliation {
  const left = new Map(held.map((entry) => [entry.row.upstreamId, entry]))
  const known: { row: ConnectionRow; found: DiscoveredConnection }[] = []
  const strangers: DiscoveredConnection[] = []
  for (const found of discovered) {
    const entry = left.get(found.upstreamId)
    if (entry === undefined) strangers.push(found)
    else {
      left.delete(found.upstreamId)
      known.push({ row: entry.row, found })
    }
  }
  const gone = new Map<ConnectionId, HeldConnection>()
  for (const entry of left.values()) gone.set(entry.row.id, entry)
  const unknown: DiscoveredConnection[] = []
  for (const found of strangers) {
    const entry = [...gone.values()].find((candidate) => isRenewal(candidate, found))
    if (entry === undefined) unknown.push(found)
    else {
      gone.delete(entry.row.id)
      known.push({ row: entry.row, found })
    }
  }
  return { known, unknown, absent: [...gone.values()].map((entry) => entry.row) }
}

/**
 * True when a consent with a new id renews a stored connection whose old id the provider no longer lists: an account
 * moved with it; or the institution is the same and, where a person may have several logins at one, an account number
 * too.
 */
function isRenewal({ row, accounts }: HeldConnection, found: DiscoveredConnection): boolean {
  const ids = new Set(accounts.map((account) => account.upstreamId))
  const moved = (found.accounts ?? []).some(
    ({ upstreamId, previousUpstreamId }) =>
      ids.has(upstreamId) || (previousUpstreamId !== null && ids.has(previousUpstreamId)),
  )
  if (moved) return true
  if (row.institutionId !== found.institutionId) return false
  if (factsOf(row.provider).oneConsentPerInstitution) return true
  const numbers = new Set(accounts.map((account) => account.accountNumber))
  return (found.accounts ?? []).some(
    ({ accountNumber }) => accountNumber !== null && numbers.has(accountNumber),
  )
}

/**
 * Compares what we hold of a login with what its provider told just now: which connections are known, which are new
 * and which are gone. Pure; it changes nothing. A link keeps its id when the provider renews it under another one.
 */
import type { ConnectionId } from '#kernel/ids.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { AccountRow, ConnectionRow } from '#store/port.ts'

export interface Reconciliation {
  /** Ours and what became of it. The upstream ids differ where the provider gave the link a new one. */
  readonly known: readonly { readonly row: ConnectionRow; readonly found: DiscoveredConnection }[]
  readonly unknown: readonly DiscoveredConnection[]
  readonly absent: readonly ConnectionRow[]
}

/** Our side: connections of one login that are not being deleted, each with its accounts. */
export interface HeldConnection {
  readonly row: ConnectionRow
  readonly accounts: readonly AccountRow[]
}

/** Matches by the provider's id first, then what is left by `isRenewal`; each side is matched at most once. */
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
 * Whether a link under a new id is one of ours that the provider no longer knows under its old id: an account moved
 * along; or the same institution and, where a person may have several logins at one, an account with the same number.
 */
function isRenewal({ row, accounts }: HeldConnection, found: DiscoveredConnection): boolean {
  const ids = new Set(accounts.map((account) => account.upstreamId))
  const moved = (found.accounts ?? []).some(
    ({ upstreamId, previousUpstreamId }) =>
      ids.has(upstreamId) || (previousUpstreamId !== null && ids.has(previousUpstreamId)),
  )
  if (moved) return true
  if (row.institutionId !== found.institutionId) return false
  // An end user of Fiskil has one consent per institution: the newest.
  if (row.provider === 'fiskil') return true
  const numbers = new Set(accounts.map((account) => account.accountNumber))
  return (found.accounts ?? []).some(
    ({ accountNumber }) => accountNumber !== null && numbers.has(accountNumber),
  )
}

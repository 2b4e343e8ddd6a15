/**
 * Compares the stored connections of a login with those that its provider lists now: which are known, which
 * are new, which are missing. It changes nothing. A connection keeps its id when the provider renews it under
 * another one; what is not certain is new. The order of both lists does not matter.
 */
import type { ConnectionId, UpstreamId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'

/** A stored connection and its current state. The upstream ids differ when the provider issued a new one. */
export interface KnownConnection {
  readonly row: ConnectionRow
  readonly found: DiscoveredConnection
  /** Its owner asked for the renewal, or the id is new: its accounts may have new ids too. */
  readonly isRenewed: boolean
}

/** A connection that is being removed, and its consent, which the provider still lists. */
export type LeavingConnection = Pick<KnownConnection, 'row' | 'found'>

export interface Reconciliation {
  readonly known: readonly KnownConnection[]
  readonly unknown: readonly DiscoveredConnection[]
  readonly leaving: readonly LeavingConnection[]
  readonly absent: readonly ConnectionRow[]
}

/** A stored connection of the login, except `deleting` ones, with its accounts. */
export interface HeldConnection {
  readonly row: ConnectionRow
  readonly accounts: readonly AccountRow[]
}

export interface LoginConnections {
  /** Newest first. */
  readonly held: readonly HeldConnection[]
  /**
   * Those that are being deleted, the newest one of each id at the provider: none of these consents renews
   * another connection.
   */
  readonly leaving: ReadonlyMap<UpstreamId, ConnectionRow>
}

export async function holdConnections(
  store: StoreRows,
  login: LoginRow,
): Promise<LoginConnections> {
  const rows = await store.connections.listByLogin(login.id)
  const held: HeldConnection[] = []
  const leaving = new Map<UpstreamId, ConnectionRow>()
  for (const row of rows) {
    if (row.status === 'deleting') leaving.getOrInsert(row.upstreamId, row)
    else held.push({ row, accounts: await store.accounts.listByConnection(login.userId, row.id) })
  }
  return { held, leaving }
}

/**
 * Matches by the provider's id first. The rest are renewals: an account moved with its id; at the same
 * institution most account numbers are equal; the person asked to renew this connection and one new consent
 * came; where ids are not stable, most names of accounts are equal; a person has one consent for each
 * institution. Each step matches only what has one candidate on
 * either side.
 * @param renews the connection whose renewal the person asked for; null or absent: they asked for none.
 */
export function reconcile(
  { held, leaving }: LoginConnections,
  discovered: readonly DiscoveredConnection[],
  { renews = null }: { readonly renews?: ConnectionId | null } = {},
): Reconciliation {
  const listed = [...new Map(discovered.map((found) => [found.upstreamId, found])).values()]
  const isLeaving = ({ upstreamId }: DiscoveredConnection) => leaving.has(upstreamId)
  const moved = renews === null ? null : findMoved({ held, leaving }, listed, renews)
  const all: Lists = { held, strangers: listed, pairs: [] }
  const byId = pairBest(moved === null ? all : withPair(all, moved), hasSameId)
  const strangers = byId.strangers.filter((found) => !isLeaving(found))
  const steps = [countMoved, countNumbers, toAsked(renews), countNames, isOnlyConsent]
  const { held: absent, pairs, ...rest } = steps.reduce(pairBest, { ...byId, strangers })
  return {
    known: pairs.map(({ entry: { row }, found }) => ({
      row,
      found,
      isRenewed: row.upstreamId !== found.upstreamId || row.id === renews,
    })),
    unknown: rest.strangers,
    leaving: byId.strangers.flatMap((found) => {
      const row = leaving.get(found.upstreamId)
      return row === undefined ? [] : [{ row, found }]
    }),
    absent: absent.map(({ row }) => row),
  }
}

/**
 * A renewed connection whose broken consent is still listed beside the new one (Akahu may keep the old
 * authorisation): the only other active consent whose account numbers are mostly equal takes its place. Null:
 * there is none, or it is not certain.
 */
function findMoved(
  { held, leaving }: LoginConnections,
  listed: readonly DiscoveredConnection[],
  renews: ConnectionId,
): Pair | null {
  const entry = held.find(({ row }) => row.id === renews)
  const own = listed.find(({ upstreamId }) => upstreamId === entry?.row.upstreamId)
  if (entry === undefined || own === undefined || own.status === 'active') return null
  const known = new Set([...held.map(({ row }) => row.upstreamId), ...leaving.keys()])
  const news = listed.filter(({ upstreamId, status }) => {
    return status === 'active' && !known.has(upstreamId)
  })
  const found = bestOf(news, (one) => countNumbers(entry, one))
  return found === null ? null : { entry, found }
}

function withPair({ held, strangers, pairs }: Lists, pair: Pair): Lists {
  return {
    held: held.filter((entry) => entry !== pair.entry),
    strangers: strangers.filter((found) => found !== pair.found),
    pairs: [...pairs, pair],
  }
}

interface Pair {
  readonly entry: HeldConnection
  readonly found: DiscoveredConnection
}

interface Lists {
  readonly held: readonly HeldConnection[]
  readonly strangers: readonly DiscoveredConnection[]
  readonly pairs: readonly Pair[]
}

/** How well a consent fits a stored connection; 0: not at all. */
type Score = (entry: HeldConnection, found: DiscoveredConnection) => number

/** Pairs what fits each other better than anything else that is left. */
function pairBest({ held, strangers, pairs }: Lists, score: Score): Lists {
  const found = strangers.flatMap((stranger): Pair[] => {
    const entry = bestOf(held, (candidate) => score(candidate, stranger))
    if (entry === null) return []
    const rival = bestOf(strangers, (candidate) => score(entry, candidate))
    return rival === stranger ? [{ entry, found: stranger }] : []
  })
  const taken = new Set<unknown>(found.flatMap((pair) => [pair.entry, pair.found]))
  return {
    held: held.filter((entry) => !taken.has(entry)),
    strangers: strangers.filter((stranger) => !taken.has(stranger)),
    pairs: [...pairs, ...found],
  }
}

/** The one with the highest score above 0; null where there is none, or several. */
function bestOf<One>(candidates: readonly One[], score: (one: One) => number): One | null {
  let [best, highest]: [One | null, number] = [null, 0]
  for (const candidate of candidates) {
    const points = score(candidate)
    if (points > highest) [best, highest] = [candidate, points]
    else if (points === highest) best = null
  }
  return best
}

const hasSameId: Score = ({ row }, found) => (row.upstreamId === found.upstreamId ? 1 : 0)

/** Accounts that are known by their present or their former id. */
const countMoved: Score = ({ accounts }, found) => {
  const ids = new Set(accounts.map(({ upstreamId }) => upstreamId))
  return (found.accounts ?? []).filter(
    ({ upstreamId, previousUpstreamId: former }) =>
      ids.has(upstreamId) || (former !== null && ids.has(former)),
  ).length
}

/**
 * Equal account numbers at the same institution; 0 when they are no more than half of the shorter list: two
 * people's logins at one bank may share an account.
 */
const countNumbers: Score = ({ row, accounts }, found) => {
  if (row.institutionId !== found.institutionId) return 0
  const [ours, theirs] = [numbersOf(accounts), numbersOf(found.accounts ?? [])]
  const equal = ours.intersection(theirs).size
  return equal * 2 > Math.min(ours.size, theirs.size) ? equal : 0
}

/** The connection that was named, unless its accounts have other numbers. */
function toAsked(renews: ConnectionId | null): Score {
  return ({ row, accounts }, found) => {
    if (row.id !== renews || row.institutionId !== found.institutionId) return 0
    const [ours, theirs] = [numbersOf(accounts), numbersOf(found.accounts ?? [])]
    const isOther = ours.size > 0 && theirs.size > 0 && ours.isDisjointFrom(theirs)
    return isOther ? 0 : 1
  }
}

/** Equal names at the same institution, more than half of the shorter list, where ids may change. */
const countNames: Score = ({ row, accounts }, found) => {
  const isUnstable = factsOf(row.provider).hasUnstableIds === true
  if (!isUnstable || row.institutionId !== found.institutionId) return 0
  const ours = new Set(accounts.map(({ name }) => name))
  const theirs = new Set((found.accounts ?? []).map(({ name }) => name))
  const equal = ours.intersection(theirs).size
  return equal * 2 > Math.min(ours.size, theirs.size) ? equal : 0
}

const isOnlyConsent: Score = ({ row }, { institutionId }) =>
  row.institutionId === institutionId && factsOf(row.provider).oneConsentPerInstitution ? 1 : 0

function numbersOf(accounts: readonly { readonly accountNumber: string | null }[]): Set<string> {
  return new Set(accounts.flatMap(({ accountNumber }) => accountNumber ?? []))
}

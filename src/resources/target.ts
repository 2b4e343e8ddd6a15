/**
 * Resolves the ids of a request to rows: connection found, right category, accounts found (reading R3 step
 * 10). What is not the caller's does not exist: the same 404, built fresh.
 */
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import { withinReach } from '#contract/reach.ts'
import type { ConnectionCategory, Provider } from '#contract/resources.ts'
import { rightEndpoint } from '#contract/right-endpoint.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
import { parseUuid } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import { consentGone } from '#providers/failure.ts'
import type { GuardTarget } from '#providers/guard.ts'
import type { AccountRef, ConnectionRef, Login } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { Store } from '#store/ports/store.ts'
import { sortAccounts } from './sort-accounts.ts'

export interface Target {
  readonly connection: ConnectionRef
  readonly login: Login
  readonly provider: Provider
  readonly accounts: readonly AccountRef[]
  /** Exactly one account was requested. */
  readonly scoped: boolean
  /** When the connection was last refreshed, as stored. */
  readonly lastRefreshedAt: Millis | null
}

export interface TargetQuery {
  readonly connectionId: string
  readonly accountId?: string | undefined
  /** Takes precedence over accountId. */
  readonly accountIds?: readonly string[] | undefined
}

/** What the guard needs of a target. */
export function toGuardTarget(
  { provider, login, connection }: Target,
  userId: UserId,
  breaker: boolean,
): GuardTarget {
  const { id: loginId, version: loginVersion } = login
  return { provider, userId, loginId, loginVersion, connectionId: connection.id, breaker }
}

export const categoryOf = (provider: Provider): ConnectionCategory => factsOf(provider).category

/** Finds what a request refers to; throws the catalogue's errors in the order of reading R3. */
export async function findReadTarget(
  store: Store,
  caller: Caller,
  query: TargetQuery,
  category: ConnectionCategory,
): Promise<Target> {
  const { connection, rows } = await findConnection(store, caller, query.connectionId)
  const actual = categoryOf(connection.provider)
  if (actual !== category) {
    throw apiError('wrong_endpoint_for_category', { message: rightEndpoint[actual] })
  }
  const chosen = chooseAccounts(rows, query)
  const login = await store.logins.get(connection.loginId)
  if (login === null) throw new Error(`connection ${connection.id} has no login`)
  return {
    connection: { id: connection.id, upstreamId: connection.upstreamId, status: connection.status },
    login: {
      id: login.id,
      userId: login.userId,
      upstreamUserId: login.upstreamUserId,
      secret: login.secret,
      version: login.version,
    },
    provider: connection.provider,
    accounts: chosen.map(toAccountRef),
    scoped: query.accountIds === undefined && query.accountId !== undefined,
    lastRefreshedAt: connection.lastRefreshedAt,
  }
}

interface Found {
  readonly connection: ConnectionRow & { readonly status: ConnectionRef['status'] }
  /** Its accounts, as far as the caller may see them. */
  readonly rows: readonly AccountRow[]
}

async function findConnection(store: Store, caller: Caller, text: string): Promise<Found> {
  const { userId, reach } = caller
  const id = parseUuid<ConnectionId>(text)
  const row = id === null ? null : await store.connections.get(userId, id)
  if (row === null || row.status === 'deleting') throw apiError('connection_not_found')
  if (reach?.connections?.has(row.id) === false) throw apiError('connection_not_found')
  const rows = withinReach(reach, await store.accounts.listByConnection(userId, row.id))
  // Reading R43: with chosen accounts, a connection without one of them does not exist.
  const isHidden = rows.length === 0 && (reach?.accounts ?? null) !== null
  if (isHidden) throw apiError('connection_not_found')
  return { connection: { ...row, status: row.status }, rows }
}

function chooseAccounts(rows: readonly AccountRow[], query: TargetQuery): readonly AccountRow[] {
  const wanted = query.accountIds ?? (query.accountId === undefined ? null : [query.accountId])
  // Not in the order of the store, which changes of rows move and snapshots depend on (reading R19).
  if (wanted === null) return sortAccounts(rows)
  const known = new Map(rows.map((row) => [row.id, row]))
  const chosen = new Map<AccountId, AccountRow>()
  for (const text of wanted) {
    const id = parseUuid<AccountId>(text)
    const row = id === null ? undefined : known.get(id)
    if (row === undefined) throw apiError('account_not_found')
    chosen.set(row.id, row)
  }
  return [...chosen.values()]
}

export function toAccountRef(row: AccountRow): AccountRef {
  return {
    id: row.id,
    connectionId: row.connectionId,
    upstreamId: row.upstreamId,
    name: row.name,
    currency: row.currency,
  }
}

/** Reading R20b: the provider is not called for a revoked connection. */
export function refuseRevoked(connection: ConnectionRef): void {
  if (connection.status === 'revoked') {
    throw apiError('upstream_bad_request', { message: `Upstream rejected request: ${consentGone}` })
  }
}

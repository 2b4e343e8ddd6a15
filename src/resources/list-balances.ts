/**
 * Live balances of banking accounts, one provider call per login. A balance that could not be read is null
 * and never missing, and no failure of a provider fails the request (contract, Balance; readings R13, R20).
 */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import type { listBalances } from '#contract/operations.ts'
import { withinReach } from '#contract/reach.ts'
import { type Balance, Provider } from '#contract/resources.ts'
import { noBalancesOf } from '#contract/right-endpoint.ts'
import type { AccountId, LoginId } from '#kernel/ids.ts'
import { parseUuid } from '#kernel/ids.ts'
import { type Millis, parseInstant, toMillis } from '#kernel/time.ts'
import type { BalanceReader, BalanceReading } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { reportedTime, toAge } from './data-age.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { categoryOf, toAccountRef } from './target.ts'

export type BalancesRequest = z.output<typeof listBalances.query>

const maxAccounts = 100

interface Group {
  readonly loginId: LoginId
  readonly provider: Provider
  readonly members: { readonly account: AccountRow; readonly connection: ConnectionRow }[]
}

export function makeListBalances(options: ReadOptions) {
  return async (
    query: BalancesRequest,
    context: ReadContext,
  ): Promise<ReadResult<{ data: Balance[] }>> => {
    const accounts = await findAccounts(options, context, query.accountIds)
    refuseBrokerage(accounts)
    const readers = findReaders(options, accounts)
    const groups = await groupByLogin(options, context, accounts)
    const lists = await Promise.all(
      groups.map((group) =>
        readGroup(options, context, group, readers.get(group.provider) ?? null),
      ),
    )
    const data = lists.flatMap(({ balances }) => balances)
    const cacheable = data.every((balance) => balance.currentBalance !== null)
    const reading = {
      body: { data },
      truncated: false,
      cacheable,
      ...toAge(lists.flatMap(({ times }) => times)),
    }
    const ends = lists.flatMap(({ goodUntil }) => goodUntil ?? [])
    return ends.length === 0 ? reading : { ...reading, staleAt: Math.min(...ends) }
  }
}

/** Reading R13: the number after deduplication is checked first, then unknown ids. */
async function findAccounts(
  options: ReadOptions,
  context: ReadContext,
  texts: readonly string[],
): Promise<readonly AccountRow[]> {
  const ids = new Set(texts.map((text) => parseUuid<AccountId>(text)))
  if (ids.size > maxAccounts) throw apiError('too_many_accounts')
  const { userId, reach } = context.caller
  const rows = withinReach(reach, await options.store.accounts.list(userId))
  const known = new Map(rows.map((row) => [row.id, row]))
  return [...ids].map((id) => {
    const row = id === null ? undefined : known.get(id)
    if (row === undefined) throw apiError('accounts_not_found')
    return row
  })
}

function refuseBrokerage(accounts: readonly AccountRow[]): void {
  const offending = accounts.filter((row) => categoryOf(row.provider) === 'brokerage')
  if (offending.length === 0) return
  const message = noBalancesOf(offending.map((row) => row.id))
  throw apiError('wrong_endpoint_for_category', { message })
}

/** The balance reader of each provider; null: the provider is not configured, so its balances are null. */
function findReaders(
  options: ReadOptions,
  accounts: readonly AccountRow[],
): ReadonlyMap<Provider, BalanceReader | null> {
  const readers = new Map<Provider, BalanceReader | null>()
  for (const { provider } of accounts) {
    const adapter = options.adapters[provider]
    if (
      adapter !== undefined &&
      (adapter.category !== 'banking' || adapter.balances === undefined)
    ) {
      throw apiError('balances_not_available', {
        message: `Balances are not yet available for provider: ${provider}`,
      })
    }
    readers.set(provider, adapter?.balances ?? null)
  }
  return readers
}

/** Iterated by provider, then login, which is the order of the answer (contract, Endpoints). */
async function groupByLogin(
  options: ReadOptions,
  context: ReadContext,
  accounts: readonly AccountRow[],
): Promise<readonly Group[]> {
  const connections = new Map(
    (await options.store.connections.list(context.caller.userId)).map((row) => [row.id, row]),
  )
  const groups = new Map<LoginId, Group>()
  for (const account of accounts) {
    const connection = connections.get(account.connectionId)
    if (connection === undefined) throw apiError('accounts_not_found')
    const { loginId, provider } = connection
    const group = groups.get(loginId) ?? { loginId, provider, members: [] }
    group.members.push({ account, connection })
    groups.set(loginId, group)
  }
  const order = Provider.options
  return [...groups.values()].toSorted(
    (left, right) => order.indexOf(left.provider) - order.indexOf(right.provider),
  )
}

interface GroupReading {
  readonly balances: readonly Balance[]
  /** When the institutions last updated them, where that is known. */
  readonly times: readonly (Millis | null)[]
  /** When the balances may be shown no longer; null: there is no such bound. */
  readonly goodUntil: Millis | null
}

const nothing: BalanceReading = { balances: [], consents: [] }

async function readGroup(
  options: ReadOptions,
  context: ReadContext,
  group: Group,
  read: BalanceReader | null,
): Promise<GroupReading> {
  // Reading R20b: the provider is not called for a revoked connection.
  const asked = group.members.filter((member) => member.connection.status !== 'revoked')
  const reading =
    read === null || asked.length === 0 ? nothing : await ask(options, context, group, read)
  const wanted = new Set(asked.map((member) => member.account.id))
  const balances = reading.balances.filter((balance) => wanted.delete(balance.accountId))
  const answered = new Set(balances.map((balance) => balance.accountId))
  const missing = group.members.filter((member) => !answered.has(member.account.id))
  const shown = asked.filter((member) => answered.has(member.account.id))
  const adapter = options.adapters[group.provider]
  return {
    balances: [...balances, ...missing.map((member) => unknownBalance(member.account.id))],
    times:
      reading.age === undefined
        ? shown.map(
            ({ connection }) => timeOf(reading, connection) ?? reportedTime(adapter, connection),
          )
        : [reading.age.asOf],
    goodUntil: reading.age?.goodUntil ?? null,
  }
}

/** The provider's own time of a connection in this reading; null: it has none. */
function timeOf({ consents }: BalanceReading, { id }: ConnectionRow): Millis | null {
  const text = consents.find(({ connectionId }) => connectionId === id)?.lastRefreshedAt
  const at = text === undefined || text === null ? null : parseInstant(text)
  return at === null ? null : toMillis(at)
}

async function ask(
  options: ReadOptions,
  context: ReadContext,
  group: Group,
  read: BalanceReader,
): Promise<BalanceReading> {
  const [first] = group.members
  const login = await options.store.logins.get(group.loginId)
  if (first === undefined || login === null) return nothing
  const accounts = group.members.flatMap(({ account, connection }) =>
    connection.status === 'deleting' || connection.status === 'revoked'
      ? []
      : [
          {
            account: toAccountRef(account),
            connection: {
              id: connection.id,
              upstreamId: connection.upstreamId,
              status: connection.status,
            },
          },
        ],
  )
  const target = {
    provider: group.provider,
    userId: context.caller.userId,
    loginId: group.loginId,
    loginVersion: login.version,
    connectionId: first.connection.id,
    breaker: false,
  }
  try {
    return await options.guard.run(target, context.signal, (call) =>
      read({ login, accounts }, call),
    )
  } catch (error) {
    if (context.signal.aborted && context.signal.reason?.name !== 'TimeoutError') throw error
    options.onBalanceFailure(error)
    return nothing
  }
}

function unknownBalance(accountId: AccountId): Balance {
  return { accountId, currentBalance: null, availableBalance: null, currency: null }
}

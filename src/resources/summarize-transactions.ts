/**
 * Exact sums of the transactions of one account, one bank or all of them (reading R44): the rows are those of
 * `list_transactions`, as many as one request may read of each connection.
 */
import type { z } from 'zod'
import { categoryLabels } from '#contract/categories.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import type { summarizeTransactions } from '#contract/operations.ts'
import { withinReach } from '#contract/reach.ts'
import type { Transaction } from '#contract/resources.ts'
import type { TransactionSummary } from '#contract/summary.ts'
import { add, compare, type Decimal, isNegative, negate, zero } from '#kernel/decimal.ts'
import { type AccountId, parseUuid } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { rowCeiling } from '#paging/read-on.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { toAge } from './data-age.ts'
import { type makeListTransactions, readTransactionsWindow } from './list-transactions.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { categoryOf } from './target.ts'

export type SummaryQuery = z.output<typeof summarizeTransactions.query>
type Summary = z.output<typeof TransactionSummary>
type GroupBy = SummaryQuery['groupBy']

/** Further groups are summed as one, so that an answer stays small. */
const mostGroups = 200

/** The rows that were read of a connection. */
interface Share {
  readonly rows: readonly Transaction[]
  /** The rows before this day were not read; null: all were. Empty: no such day is known. */
  readonly reached: string | null
  /** When what was read expires, and when the institution last updated it, as far as that is known. */
  readonly staleAt: Millis | undefined
  readonly asOf: Millis | undefined
}

/** Reads the sums. Banks that cannot be read are named; @throws the ApiError of the last when none could. */
export function makeSummarizeTransactions(
  options: ReadOptions,
  list: ReturnType<typeof makeListTransactions>,
) {
  return async (query: SummaryQuery, context: ReadContext): Promise<ReadResult<Summary>> => {
    const { userId, reach } = context.caller
    // The dates are judged where there is no bank to read, too.
    readTransactionsWindow(query, context.caller, options)
    // Reading R43: an account outside is as unknown as one that does not exist.
    const accounts = withinReach(reach, await options.store.accounts.list(userId))
    const connections = await chooseConnections(options, query, { context, accounts })
    const shares: Share[] = []
    const unread: Summary['unread'] = []
    let failure: ApiError | null = null
    for (const connectionId of connections) {
      try {
        const { accountId, from, to } = query
        const asked = {
          connectionId,
          accountId,
          from,
          to,
          limit: rowCeiling,
          offset: 0,
          include: 'currency',
        } as const
        const { body, staleAt, asOf } = await list(asked, context)
        const { data, pagination } = body
        shares.push({
          rows: data,
          reached: pagination.hasMore ? findReached(data) : null,
          staleAt,
          asOf,
        })
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        failure = error
        unread.push({ connectionId, message: error.message })
      }
    }
    if (failure !== null && shares.length === 0) throw failure
    const byId = new Map(accounts.map((account) => [account.id as string, account]))
    const body = { ...summarize(shares, query.groupBy, byId), unread }
    const ends = shares.flatMap(({ staleAt }) => staleAt ?? [])
    return {
      body,
      truncated: body.truncated,
      cacheable: unread.length === 0,
      // Readings R19, R36: what is made of a reading lives no longer than it.
      ...(ends.length === 0 ? {} : { staleAt: Math.min(...ends) }),
      ...toAge(shares.map(({ asOf }) => asOf)),
    }
  }
}

/** Empty where no row was read, or one of an earlier day than the last: the rows come in another order. */
function findReached(rows: readonly Transaction[]): string {
  const last = rows.at(-1)?.date ?? ''
  return rows.every(({ date }) => date >= last) ? last : ''
}

/**
 * The one that was named, that of the account, or every bank with accounts among `accounts`, which are those
 * that the caller may see.
 */
async function chooseConnections(
  { store }: ReadOptions,
  { connectionId, accountId }: SummaryQuery,
  {
    context,
    accounts,
  }: { readonly context: ReadContext; readonly accounts: readonly AccountRow[] },
): Promise<readonly string[]> {
  if (connectionId !== undefined) return [connectionId]
  if (accountId !== undefined) {
    const asked = parseUuid<AccountId>(accountId)
    const account = accounts.find(({ id }) => id === asked)
    if (account === undefined) throw apiError('account_not_found')
    return [account.connectionId]
  }
  const banks = new Set(
    accounts
      .filter(({ provider }) => categoryOf(provider) === 'banking')
      .map((one) => one.connectionId),
  )
  const rows = await store.connections.list(context.caller.userId)
  return rows.filter(({ id, status }) => status !== 'deleting' && banks.has(id)).map(({ id }) => id)
}

type Accounts = ReadonlyMap<string, AccountRow>

interface Group {
  readonly key: string | null
  readonly label: string | null
  readonly currency: string
  moneyIn: Decimal
  moneyOut: Decimal
  count: number
}

function summarize(
  shares: readonly Share[],
  groupBy: GroupBy,
  accounts: Accounts,
): Omit<Summary, 'unread'> {
  const rows = shares.flatMap((share) => share.rows)
  const groups = new Map<string, Group>()
  for (const row of rows) {
    const currency = row.currency ?? accounts.get(row.accountId)?.currency ?? 'XXX'
    const { key, label } = nameGroup(groupBy, row, accounts)
    // Points of two schemes have no currency, and are not added up.
    const name = JSON.stringify([key, currency, currency === 'XXX' ? row.accountId : null])
    const group = groups.getOrInsertComputed(name, () => {
      return { key, label, currency, moneyIn: zero, moneyOut: zero, count: 0 }
    })
    addRow(group, row.amount)
  }
  const sorted = [...groups.values()].toSorted(groupBy === 'month' ? byMonth : byMoneyOut)
  const reached = shares.flatMap((share) => (share.reached === null ? [] : [share.reached]))
  return {
    data: sorted.slice(0, mostGroups),
    others: sumOthers(sorted.slice(mostGroups)),
    count: rows.length,
    truncated: reached.length > 0,
    // From the newest of them on all connections were read.
    reachedDate: reached.includes('') ? null : (reached.toSorted().at(-1) ?? null),
  }
}

function addRow(group: Group, amount: Decimal): void {
  if (isNegative(amount)) group.moneyOut = add(group.moneyOut, negate(amount))
  else group.moneyIn = add(group.moneyIn, amount)
  group.count += 1
}

function nameGroup(
  groupBy: GroupBy,
  { date, category, merchantName, accountId }: Transaction,
  accounts: Accounts,
): Pick<Group, 'key' | 'label'> {
  if (groupBy === 'month') return { key: date.slice(0, 7), label: null }
  if (groupBy === 'account') return { key: accountId, label: accounts.get(accountId)?.name ?? null }
  if (groupBy === 'merchant') return { key: merchantName, label: null }
  return { key: category, label: categoryLabels.get(category ?? '') ?? null }
}

const byMonth = (one: Group, other: Group): number =>
  (other.key ?? '').localeCompare(one.key ?? '') || one.currency.localeCompare(other.currency)

/** The most that went out comes first. Amounts of other currencies are not compared. */
const byMoneyOut = (one: Group, other: Group): number =>
  one.currency.localeCompare(other.currency) ||
  compare(other.moneyOut, one.moneyOut) ||
  compare(other.moneyIn, one.moneyIn)

/** What is left, by currency. */
function sumOthers(groups: readonly Group[]): Summary['others'] {
  const sums = new Map<string, Summary['others'][number]>()
  for (const { currency, moneyIn, moneyOut, count } of groups) {
    const sum = sums.get(currency)
    sums.set(currency, {
      currency,
      groups: (sum?.groups ?? 0) + 1,
      moneyIn: add((sum?.moneyIn ?? zero) as Decimal, moneyIn),
      moneyOut: add((sum?.moneyOut ?? zero) as Decimal, moneyOut),
      count: (sum?.count ?? 0) + count,
    })
  }
  return [...sums.values()]
}

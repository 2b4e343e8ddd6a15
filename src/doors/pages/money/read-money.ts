/** Reads what the page of one account shows. Each part fails alone, and its failure is shown in its place. */
import { ApiError } from '#contract/errors.ts'
import { listBalances, listHoldings, listTrades, listTransactions } from '#contract/operations.ts'
import type { Balance, Holding, Pagination, Trade, Transaction } from '#contract/resources.ts'
import type { Millis } from '#kernel/time.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { Asked, OwnReads, Told } from './own-reads.ts'
import type { Days } from './row-filter.ts'

/** Rows are cached for this long; a balance for less. */
const longestCacheMs = listTransactions.cacheSeconds * 1000

/** Rows of one page, as REST has them by default. */
export const rowsAtOnce = 200

export interface Rows<Row> {
  readonly data: readonly Row[]
  readonly pagination: Pagination
  readonly truncated: boolean
}

export type Part<Read> =
  | { readonly kind: 'read'; readonly body: Read }
  | { readonly kind: 'failed'; readonly error: ApiError }

export type MoneyReading =
  | {
      readonly category: 'banking'
      readonly rows: Part<Rows<Transaction>>
      readonly balance: Part<Balance | null>
      /** Rows and balance were read at about the same time. */
      readonly isOfOneTime: boolean
      readonly asked: readonly Asked[]
    }
  | {
      readonly category: 'brokerage'
      readonly rows: Part<Rows<Trade>>
      readonly holdings: Part<readonly Holding[]>
      readonly asked: readonly Asked[]
    }

export interface RowsWanted extends Days {
  readonly offset: number
  readonly limit: number
}

export const toRowsAsked = (
  { id, connectionId }: Pick<AccountRow, 'id' | 'connectionId'>,
  category: MoneyReading['category'],
  { from, to, offset, limit }: RowsWanted,
): Asked => ({
  operation: category === 'banking' ? listTransactions : listTrades,
  query: {
    connectionId,
    accountId: id,
    from,
    to,
    limit: `${limit}`,
    offset: offset === 0 ? null : `${offset}`,
    include: category === 'banking' ? 'currency' : null,
  },
})

export async function readMoney(
  reads: OwnReads,
  account: AccountRow,
  given: RowsWanted & { readonly category: MoneyReading['category']; readonly now: Millis },
): Promise<MoneyReading> {
  const { category } = given
  const rows = toRowsAsked(account, category, given)
  if (category === 'banking') {
    const balance = { operation: listBalances, query: { accountIds: account.id } }
    const [rowsPart, told] = await Promise.all([
      attempt(reads.ask<TransactionsBody>(rows)),
      attempt(reads.ask<Balances>(balance)),
    ])
    return {
      category,
      rows: rowsPart.kind === 'failed' ? rowsPart : { kind: 'read', body: toRows(rowsPart.body) },
      balance: told.kind === 'failed' ? told : { kind: 'read', body: firstOf(told.body) },
      isOfOneTime:
        rowsPart.kind === 'read' &&
        told.kind === 'read' &&
        isNear(rowsPart.body, told.body, given.now),
      asked: [rows, balance],
    }
  }
  const { connectionId, id: accountId } = account
  const holdings = { operation: listHoldings, query: { connectionId, accountId } }
  const [rowsPart, holdingsPart] = await Promise.all([
    attempt(readOwnRows<Trade>(reads, rows)),
    attempt(readHoldings(reads, holdings)),
  ])
  return { category, rows: rowsPart, holdings: holdingsPart, asked: [holdings, rows] }
}

/** @throws anything but an ApiError. */
async function attempt<Read>(reading: Promise<Read>): Promise<Part<Read>> {
  try {
    return { kind: 'read', body: await reading }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { kind: 'failed', error }
  }
}

/** @param isCounted false: a further window of the same file. */
export async function readOwnRows<Row>(
  reads: OwnReads,
  asked: Asked,
  isCounted = true,
): Promise<Rows<Row>> {
  return toRows(await reads.ask<Omit<Rows<Row>, 'truncated'>>(asked, isCounted))
}

type TransactionsBody = Omit<Rows<Transaction>, 'truncated'>

const toRows = <Row>({ body, truncated }: Told<Omit<Rows<Row>, 'truncated'>>): Rows<Row> => {
  return { ...body, truncated }
}

/** By their ages where both are told. Otherwise a cached answer is not near one that was read now. */
function isNear(rows: Told<unknown>, balance: Told<unknown>, now: Millis): boolean {
  const apart = Math.abs((rows.asOf ?? now) - (balance.asOf ?? now))
  const areDated = rows.asOf !== null && balance.asOf !== null
  return apart <= longestCacheMs && (areDated || rows.isNew === balance.isNew)
}

interface Balances {
  readonly data: readonly Balance[]
}

/** Null: the provider gave none for this account. */
function firstOf({ body: { data } }: Told<Balances>): Balance | null {
  const [balance] = data
  return balance === undefined || balance.currentBalance === null ? null : balance
}

async function readHoldings(reads: OwnReads, asked: Asked): Promise<readonly Holding[]> {
  return (await reads.ask<{ data: Holding[] }>(asked)).body.data
}

export interface DatedBalance {
  /** Null: the provider gives none. */
  readonly balance: Balance | null
  readonly at: Millis
}

/** The balance of an account, and its time. */
export async function findBalance(
  reads: OwnReads,
  { id }: AccountRow,
  now: Millis,
): Promise<DatedBalance> {
  const asked = { operation: listBalances, query: { accountIds: id } }
  try {
    const told = await reads.ask<Balances>(asked)
    return { balance: firstOf(told), at: told.asOf ?? now }
  } catch (error) {
    const isNone = error instanceof ApiError && error.entry === 'balances_not_available'
    if (isNone) return { balance: null, at: now }
    throw error
  }
}

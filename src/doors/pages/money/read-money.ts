/** Reads what the page of one account shows. Each part fails alone, and its failure is said in its place. */
import { ApiError } from '#contract/errors.ts'
import { listBalances, listHoldings, listTrades, listTransactions } from '#contract/operations.ts'
import type { Balance, Holding, Pagination, Trade, Transaction } from '#contract/resources.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { Asked, OwnReads } from './own-reads.ts'
import type { Days } from './row-filter.ts'

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
  },
})

export async function readMoney(
  reads: OwnReads,
  account: AccountRow,
  given: RowsWanted & { readonly category: MoneyReading['category'] },
): Promise<MoneyReading> {
  const { category } = given
  const rows = toRowsAsked(account, category, given)
  if (category === 'banking') {
    const balance = { operation: listBalances, query: { accountIds: account.id } }
    const [rowsPart, balancePart] = await Promise.all([
      attempt(readOwnRows<Transaction>(reads, rows)),
      attempt(readBalance(reads, balance)),
    ])
    return { category, rows: rowsPart, balance: balancePart, asked: [rows, balance] }
  }
  const { connectionId, id: accountId } = account
  const holdings = { operation: listHoldings, query: { connectionId, accountId } }
  const [rowsPart, holdingsPart] = await Promise.all([
    attempt(readOwnRows<Trade>(reads, rows)),
    attempt(readHoldings(reads, holdings)),
  ])
  return { category, rows: rowsPart, holdings: holdingsPart, asked: [holdings, rows] }
}

/** @throws what is no error for callers. */
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
  const { body, truncated } = await reads.ask<Omit<Rows<Row>, 'truncated'>>(asked, isCounted)
  return { ...body, truncated }
}

/** Null: the provider gave none for this account. */
async function readBalance(reads: OwnReads, asked: Asked): Promise<Balance | null> {
  const [balance] = (await reads.ask<{ data: Balance[] }>(asked)).body.data
  return balance === undefined || balance.currentBalance === null ? null : balance
}

async function readHoldings(reads: OwnReads, asked: Asked): Promise<readonly Holding[]> {
  return (await reads.ask<{ data: Holding[] }>(asked)).body.data
}

/** As `readBalance`; null also where the provider has no balances at all. */
export async function findBalance(reads: OwnReads, { id }: AccountRow): Promise<Balance | null> {
  const asked = { operation: listBalances, query: { accountIds: id } }
  return readBalance(reads, asked).catch((error: unknown) => {
    if (error instanceof ApiError && error.entry === 'balances_not_available') return null
    throw error
  })
}

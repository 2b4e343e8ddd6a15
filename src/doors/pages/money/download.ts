/**
 * The rows of an account as a file, by the code of `tributary export`. The file is whole or there is none: it
 * is sent once every row was read.
 */
import { apiError } from '#contract/errors.ts'
import type { Trade, Transaction } from '#contract/resources.ts'
import { type Exporter, type ExportFormat, UnfitRowError } from '#exports/exporter.ts'
import { makeExporter } from '#exports/make-exporter.ts'
import { toAccount } from '#resources/list-accounts.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { OwnReads } from './own-reads.ts'
import { findBalance, type MoneyReading, readOwnRows, toRowsAsked } from './read-money.ts'
import { chooseTrades, chooseTransactions, type Days, type RowFilter } from './row-filter.ts'

export interface FileWanted extends Days {
  readonly format: ExportFormat
  readonly filter: RowFilter
  readonly category: MoneyReading['category']
  /** Milliseconds since the epoch. */
  readonly now: number
}

export const contentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  ofx: 'application/x-ofx',
  json: 'application/json',
}

/** The largest page of REST. */
const limit = 500
/** Held in memory while the file is made. */
const maxRows = 20_000
/** Windows in a row without a row of the account. */
const maxEmptyWindows = 20

/** For people who open it with a spreadsheet: what looks like a formula is disarmed. */
const csv = { hasBom: true, isForSpreadsheet: true }

/** Null: there is no such file of this kind of account. @throws ApiError for what prevents a whole file. */
export async function makeFile(
  reads: OwnReads,
  account: AccountRow,
  wanted: FileWanted,
): Promise<string | null> {
  const { format, category, from, to, now, filter } = wanted
  // A table has no balance, and some providers give few a day.
  const hasBalance = category === 'banking' && format !== 'csv'
  const { balance, at } = hasBalance
    ? await findBalance(reads, account, now)
    : { balance: null, at: now }
  const currency = balance?.currency ?? account.currency
  const subject = {
    account: toAccount(account),
    currency,
    from,
    to,
    zone: reads.timezone,
    now,
    balanceAt: at,
  }
  const made = makeExporter(format, category, subject, csv)
  if (made === null) return null
  const write = <Row>(exporter: Exporter<Row>, rows: readonly Row[]) =>
    `${exporter.begin()}${exporter.add(rows)}${exporter.end(balance)}`
  try {
    return made.category === 'banking'
      ? write(made.exporter, chooseTransactions(await readAll(reads, account, wanted), filter))
      : write(made.exporter, chooseTrades(await readAll(reads, account, wanted), filter))
  } catch (error) {
    if (!(error instanceof UnfitRowError)) throw error
    throw apiError('invalid_params', { message: error.message, cause: error })
  }
}

/** Window after window, as programs read them. */
async function readAll<Row extends Transaction | Trade>(
  reads: OwnReads,
  account: AccountRow,
  { category, from, to }: FileWanted,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let offset = 0, empty = 0; ; ) {
    const asked = toRowsAsked(account, category, { from, to, offset, limit })
    const { data, pagination } = await readOwnRows<Row>(reads, asked, offset === 0 && empty === 0)
    rows.push(...data)
    if (!pagination.hasMore) return rows
    empty = data.length === 0 ? empty + 1 : 0
    if (rows.length >= maxRows || empty > maxEmptyWindows) {
      throw apiError('invalid_params', {
        message: `There are more than ${maxRows} rows, or the provider lists too many others between them. Choose a shorter time`,
      })
    }
    offset = pagination.offset + pagination.limit
  }
}

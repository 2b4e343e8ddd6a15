/** Maps rows to the contract's transactions, and to what events have besides. Pure. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Transaction } from '#contract/resources.ts'
import { type Decimal, isNegative, parseDecimal } from '#kernel/decimal.ts'
import { getZone, type Micros, toIso, toMicros, type Zone } from '#kernel/time.ts'
import { earliestZone, timeOfDay } from '../day-time.ts'
import { categoryOfMerchant } from '../merchant-category.ts'
import type { AccountRef, RowsQuery, TransactionDetails } from '../port.ts'
import {
  type PendingDetails,
  type PendingRow,
  type RowSettling,
  untoldDates,
} from '../row-details.ts'
import { keyRows, toRowContent, toTransactionId } from '../row-identity.ts'
import { isPending, readRows, type WireAccount, type WireRow } from './account-set.ts'
import { malformed } from './failures.ts'

/** A row of a query's accounts with its identity, as a page holds it. */
export interface IdentifiedRow extends WireRow {
  /** What its public id is made from (reading R37). */
  readonly key: string
  /** The account's id at the server. */
  readonly account: string
}

const utc = getZone('UTC')
const daySeconds = 86_400
const noonSeconds = daySeconds / 2

/** Banks' days come as noon or as midnight of UTC (docs/providers/simplefin.md, Transactions). */
const isDayStamp = (at: number): boolean => at % daySeconds === 0 || at % daySeconds === noonSeconds

const utcDay = (at: number): string => utc.dayOf(toMicros(at * 1000))

/** An answer's window in seconds; null: no end. */
export interface WindowBounds {
  readonly start: number
  readonly end: number | null
}

/** Some milliseconds of work. */
const rowsPerTurn = 500

/**
 * The settled rows of these accounts in a window, newest first, each with its identity. All rows of a day are
 * in one window, so that equal ones are numbered together. Rows outside are those of a server that widens a
 * window: another page has them. Other work has its turns meanwhile.
 */
export async function identifyRows(
  accounts: readonly (readonly [AccountRef, WireAccount])[],
  { start, end }: WindowBounds,
): Promise<readonly IdentifiedRow[]> {
  const rows: IdentifiedRow[] = []
  for (const [ref, account] of accounts) {
    const settled = readRows(account).filter(
      (row) => !isPending(row) && row.posted >= start && (end === null || row.posted < end),
    )
    const contentOf = (row: WireRow) => {
      const parts = [readAmount(row), account.currency, row.description ?? '', row.memo ?? '']
      return toRowContent({ account: ref.id, day: utcDay(row.posted), parts })
    }
    const keys = keyRows(settled, { contentOf, placeOf })
    for (const [index, row] of settled.entries()) {
      const key = keys[index] ?? ''
      if (rows.push({ ...row, account: account.id, key }) % rowsPerTurn === 0) await nextTurn()
    }
  }
  return rows.toSorted((one, other) => other.posted - one.posted || (one.key < other.key ? -1 : 1))
}

/** Where a row stands among equal ones. */
const placeOf = ({ posted, transacted_at: at, payee, mcc }: WireRow) => [
  posted,
  at || 0,
  payee || '',
  mcc || '',
]

/** @throws UpstreamError `malformed`. */
function readAmount({ amount }: WireRow): Decimal {
  const value = parseDecimal(amount)
  if (value === null) throw malformed('the amount of a transaction is not exact')
  return value
}

/** The time by which a row is in a window or not (readings R16, R16a). */
export function timeOf({ posted }: Pick<WireRow, 'posted'>, query: RowsQuery): Micros {
  return isDayStamp(posted)
    ? timeOfDay(utcDay(posted), earliestZone, query)
    : toMicros(posted * 1000)
}

/** @throws UpstreamError `malformed` (reading R23). */
export function toTransaction(
  row: IdentifiedRow,
  account: AccountRef,
  { zone, userId }: RowsQuery,
): Transaction {
  const id = toTransactionId('simplefin', userId, row.key)
  return toRow(row, account, { id, status: 'posted', date: dayOf(row.posted, zone) })
}

const dayOf = (at: number, zone: Zone): string =>
  isDayStamp(at) ? utcDay(at) : zone.dayOf(toMicros(at * 1000))

/** A pending or posted row. */
function toRow(
  row: WireRow,
  account: AccountRef,
  { id, status, date }: Pick<Transaction, 'id' | 'status' | 'date'>,
): Transaction {
  const amount = readAmount(row)
  const direction = isNegative(amount) ? 'debit' : 'credit'
  const code = row.mcc ?? null
  const isCode = code !== null && /^\d{4}$/.test(code)
  return {
    id,
    accountId: account.id,
    accountName: account.name,
    status,
    date,
    datetime: instantOf(row),
    description: row.memo || row.description || '',
    amount,
    direction,
    category: categoryOfMerchant(code, direction),
    merchantName: row.payee || null,
    merchantCategoryCode: isCode ? code : null,
  }
}

export function toSettling({ posted }: WireRow, { zone }: RowsQuery): RowSettling {
  const postDatetime = isDayStamp(posted) ? null : toIso(posted * 1000)
  return { dates: { ...untoldDates, postDate: dayOf(posted, zone), postDatetime } }
}

/**
 * The pending rows of these accounts (reading R39). They have ids that other rows get, too, so each is known
 * by its content; a time is that of the purchase, or a day for which it is announced.
 */
export function toPendingRows(
  accounts: readonly (readonly [AccountRef, WireAccount])[],
  query: RowsQuery,
): readonly PendingRow[] {
  return accounts.flatMap(([ref, account]) => {
    const rows = readRows(account).filter(isPending)
    const contentOf = (row: WireRow) => [
      ...[account.id, timeOfPending(row), readAmount(row), row.description ?? ''],
      row.memo ?? '',
    ]
    const keys = keyRows(rows, { contentOf, placeOf })
    return rows.map((row, index): PendingRow => {
      const at = timeOfPending(row)
      const date = at === null ? '' : dayOf(at, query.zone)
      return {
        key: keys[index] ?? '',
        row: toRow(row, ref, { id: '', status: 'pending', date }),
        time: at === null ? null : timeOf({ posted: at }, query),
        dates: untoldDates,
        isForeign: false,
        details: toPendingDetails(row, ref),
      }
    })
  })
}

const timeOfPending = ({ transacted_at: made, posted }: WireRow): number | null =>
  [made, posted].find((one) => typeof one === 'number' && one > 0) ?? null

/** A time of day, where the bank gave one. */
function instantOf({ transacted_at: at, posted }: WireRow): string | null {
  const known = [at, posted].find((one) => typeof one === 'number' && one > 0 && !isDayStamp(one))
  return typeof known === 'number' ? toIso(known * 1000) : null
}

export function toDetails(row: IdentifiedRow, account: AccountRef): TransactionDetails {
  const { transacted_at: at, posted } = row
  const isTold = at !== undefined && at !== null && at > 0
  return {
    ...toPendingDetails(row, account),
    transactionDate: toIso((isTold ? at : posted) * 1000),
    postDate: toIso(posted * 1000),
    formerId: null,
  }
}

/** Those that pending rows have, too. */
function toPendingDetails(row: WireRow, account: AccountRef): PendingDetails {
  const { memo, description } = row
  return {
    currency: account.currency,
    class: isNegative(readAmount(row)) ? 'debit' : 'credit',
    reference: null,
    extendedDescription: memo && description && description !== memo ? description : null,
  }
}

/** Maps kept rows to the contract's transactions, and to what events have besides. Pure. */
import type { Transaction } from '#contract/resources.ts'
import { isNegative } from '#kernel/decimal.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Micros } from '#kernel/time.ts'
import { earliestZone, timeOfDay } from '../day-time.ts'
import { categoryOfMerchant } from '../merchant-category.ts'
import type { AccountRef, RowsQuery, TransactionDetails } from '../port.ts'
import { toOtherCurrency } from '../row-currency.ts'
import { type PendingRow, type RowSettling, untoldDates } from '../row-details.ts'
import { keyContent, toTransactionId } from '../row-identity.ts'
import { malformed } from './failures.ts'
import { type AnyRow, isReadable, type KeptRow } from './rows.ts'

/** What the public id of a row is made from (reading R37). */
export const keyOf = ({ ordinal, content }: KeptRow, { id }: AccountRef): string =>
  keyContent(id, content, ordinal)

/** The time by which a row is in a window or not (reading R16a): banks tell days alone. */
export const timeOf = ({ day }: KeptRow, query: RowsQuery): Micros =>
  timeOfDay(day, earliestZone, query)

export function toTransaction(row: KeptRow, account: AccountRef, userId: UserId): Transaction {
  const id = toTransactionId('enablebanking', userId, keyOf(row, account))
  return toRow(row, account, { id, status: 'posted' })
}

/** A pending or posted row. */
function toRow(
  row: KeptRow,
  account: AccountRef,
  { id, status }: Pick<Transaction, 'id' | 'status'>,
): Transaction {
  const direction = isNegative(row.amount) ? 'debit' : 'credit'
  return {
    id,
    accountId: account.id,
    accountName: account.name,
    status,
    date: row.day,
    datetime: null,
    description: row.description,
    amount: row.amount,
    ...toOtherCurrency(row.currency, account),
    direction,
    category: categoryOfMerchant(row.merchantCode, direction),
    merchantName: row.merchant,
    merchantCategoryCode: row.merchantCode,
  }
}

export function toDetails(row: KeptRow): TransactionDetails {
  return {
    currency: row.currency,
    class: row.class,
    transactionDate: row.transactionDate,
    postDate: row.postDate,
    reference: row.reference,
    ...(row.hasOwnReference ? {} : { isReferenceUnstable: true }),
    extendedDescription: row.note,
    formerId: null,
  }
}

/** Banks tell days alone. */
export const toSettling = (row: KeptRow, { currency }: AccountRef): RowSettling => ({
  dates: { ...untoldDates, postDate: row.booked ?? null, valueDate: row.valued ?? null },
  isForeign: row.currency !== currency,
})

/**
 * The pending rows of an account (reading R39). Banks give them ids that change or none, so each is known by
 * its content. @throws UpstreamError `malformed` for one that cannot be read.
 */
export function toPendingRows(
  rows: readonly AnyRow[],
  account: AccountRef,
  query: RowsQuery,
): readonly PendingRow[] {
  return rows.map((row) => {
    if (!isReadable(row)) throw malformed(row.problem)
    return {
      key: `${row.ordinal} ${row.content}`,
      row: toRow(row, account, { id: '', status: 'pending' }),
      time: row.day === '' ? null : timeOf(row, query),
      dates: { ...untoldDates, valueDate: row.valued ?? null },
      isForeign: row.currency !== account.currency,
      details: {
        currency: row.currency,
        class: row.class,
        reference: row.reference,
        extendedDescription: row.note,
      },
    }
  })
}

/**
 * The fields of an Akahu transaction that only events contain (docs/providers/akahu.md, Transactions in
 * events). Pure; of `meta` it reads three texts and nothing of the other party's account.
 */
import { parseInstant } from '#kernel/time.ts'
import type { AccountRef, TransactionDetails } from '../port.ts'
import type { PendingDetails } from '../row-details.ts'
import { malformed } from './failures.ts'
import type { WireRow } from './map.ts'

/**
 * The details of a row. Rows name no currency, so it is the account's; a missing kind is `other`.
 * @throws UpstreamError `malformed` where a field has another type, or the date is no instant (reading R23).
 */
export function toDetails(row: WireRow, account: AccountRef): TransactionDetails {
  const { date } = row
  if (typeof date !== 'string' || parseInstant(date) === null) {
    throw malformed('a transaction has no date')
  }
  return { ...toPendingDetails(row, account), ...toMoments(row, date) }
}

const toMoments = (row: WireRow, date: string) => ({
  transactionDate: date,
  postDate: date,
  formerId: readText(row, '_migrated'),
})

/** Those that pending rows have, too. */
export function toPendingDetails(row: WireRow, account: AccountRef): PendingDetails {
  const meta = readMeta(row.meta)
  const words = [readText(meta, 'particulars'), readText(meta, 'code')]
  const extended = words.filter((word) => word !== null).join(' ')
  return {
    currency: account.currency,
    // Some kinds contain blanks: `STANDING ORDER`.
    class: (readText(row, 'type') ?? 'other').toLowerCase().replaceAll(' ', '_'),
    reference: readText(meta, 'reference'),
    extendedDescription: extended === '' ? null : extended,
  }
}

function readMeta(meta: unknown): WireRow {
  if (meta === undefined || meta === null) return {}
  if (typeof meta !== 'object' || Array.isArray(meta)) {
    throw malformed('the meta of a transaction cannot be read')
  }
  return { ...meta }
}

/** A text without blanks around it; null when absent or blank. */
function readText(row: WireRow, key: string): string | null {
  const value = row[key]
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw malformed(`the ${key} of a transaction is not a text`)
  const text = value.trim()
  return text === '' ? null : text
}

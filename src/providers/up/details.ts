/** The fields of an Up transaction that events alone have (docs/providers/up.md, Transactions in events). */
import { readField } from '#kernel/json.ts'
import { parseInstant } from '#kernel/time.ts'
import type { TransactionDetails } from '../port.ts'
import { malformed } from './failures.ts'
import type { WireRow } from './lists.ts'
import { readAmount, readText, statusOf, timeOf } from './map.ts'

/** @throws UpstreamError `malformed` where a field cannot be read (reading R23). */
export function toDetails(row: WireRow): TransactionDetails {
  const type = readText(row, 'transactionType')?.trim() ?? 'other'
  return {
    ...frame(row),
    currency: readAmount(row, 'amount').currency,
    class: type.toLowerCase().replace(/\s+/g, '_'),
    extendedDescription: readText(row, 'message') ?? readNote(row),
  }
}

/** What the customer wrote beside the row; null when there is nothing. */
function readNote({ attributes }: WireRow): string | null {
  const text = readField(readField(attributes, 'note'), 'text')
  return typeof text === 'string' && text.trim() !== '' ? text : null
}

/** The same of a row's cashback. */
export function toCashbackDetails(row: WireRow): TransactionDetails {
  return {
    ...frame(row),
    currency: readAmount(row, 'cashback', 'amount').currency,
    class: 'cashback',
    extendedDescription: null,
  }
}

function frame(row: WireRow) {
  const made = timeOf(row).text
  const told = readField(row.attributes, 'settledAt')
  // A hold has not settled.
  const settledAt = statusOf(row) === 'HELD' ? made : told
  if (typeof settledAt !== 'string' || parseInstant(settledAt) === null) {
    throw malformed('a settled transaction has no time of settlement')
  }
  return {
    transactionDate: made,
    postDate: settledAt,
    reference: null,
    formerId: null,
  }
}

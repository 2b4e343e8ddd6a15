/**
 * The fields of a Fiskil transaction that only events contain (docs/providers/fiskil.md, Transactions in
 * events). Pure; it reads no amount and no account number.
 */
import { isRecord } from '#kernel/json.ts'
import { parseCurrency } from '#kernel/money.ts'
import { parseDay, parseInstant } from '#kernel/time.ts'
import type { AccountRef, TransactionDetails } from '../port.ts'
import type { PendingDetails } from '../row-details.ts'
import { type Row, readText, unreadable } from './row.ts'

/**
 * The details of a posted row. A missing currency is the account's (reading R24b); a missing kind is `other`,
 * the CDR's own word for it.
 * @throws UpstreamError `malformed` where a field has another type, or a time is none (reading R23).
 */
export function toDetails(row: Row, index: number, account: AccountRef): TransactionDetails {
  const posted = readStamp(row, index, 'posting_date_time')
  const executed = readStamp(row, index, 'execution_date_time')
  // Without either the row counts at its value time, as its public date does.
  const either = posted ?? executed ?? readStamp(row, index, 'value_date_time')
  if (either === null) throw unreadable(index, 'posting_date_time')
  return {
    ...toPendingDetails(row, index, account),
    transactionDate: executed ?? either,
    postDate: posted ?? either,
    formerId: null,
  }
}

/** Those that pending rows have, too. */
export function toPendingDetails(row: Row, index: number, account: AccountRef): PendingDetails {
  return {
    currency: readRowCurrency(row, index) ?? account.currency,
    class: (readText(row.type, index, 'type') ?? 'other').toLowerCase(),
    reference: readText(row.reference, index, 'reference') ?? readText(row.crn, index, 'crn'),
    extendedDescription: readExtended(row, index),
  }
}

/** The text of a time as sent, an instant or a day alone; null when absent. */
function readStamp(row: Row, index: number, name: string): string | null {
  const text = readText(row[name], index, name)
  if (text === null || parseInstant(text) !== null || parseDay(text) !== null) return text
  throw unreadable(index, name)
}

function readRowCurrency(row: Row, index: number): string | null {
  const text = readText(row.currency, index, 'currency')
  if (text === null) return null
  const currency = parseCurrency(text)
  if (currency === null) throw unreadable(index, 'currency')
  return currency
}

/** The text of an NPP payment; version 1 of the API names its block `x2p101_payload`. */
function readExtended(row: Row, index: number): string | null {
  const data = readBlock(row.extended_data, index, 'extended_data')
  const payload =
    readBlock(data?.npp_payload, index, 'extended_data.npp_payload') ??
    readBlock(data?.x2p101_payload, index, 'extended_data.x2p101_payload')
  const field = 'extended_data.extended_description'
  return readText(payload?.extended_description, index, field)
}

function readBlock(value: unknown, index: number, name: string): Row | null {
  if (value === undefined || value === null) return null
  if (!isRecord(value)) throw unreadable(index, name)
  return value
}

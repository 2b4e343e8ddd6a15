/**
 * Rows whose numbers keep every digit (reading R24): the listed keys become text, whether SnapTrade sends
 * JSON numbers (activities) or decimal strings (positions), now or after a change on its side.
 */
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { isRecord, makeNumberQuoter, NumberText, parseExactJson } from '#kernel/json.ts'
import { decode, parseJson } from './body.ts'
import { malformed } from './failures.ts'

export type Row = Readonly<Record<string, unknown>>

const keys = ['price', 'units', 'amount', 'fee', 'cost_basis', 'multiplier'] as const
type NumberKey = (typeof keys)[number]
const quoteNumbers = makeNumberQuoter(keys)

export interface RowList {
  readonly rows: readonly unknown[]
  /** The object that contains the rows. */
  readonly envelope: Row
}

/** Parses a body of rows under `name`, with every listed number as text. */
export function readRows(body: Uint8Array, name: string): RowList {
  const text = decode(body)
  const quick = findRows(parseJson(text, quoteNumbers), name)
  // A key spelled with \u escapes is missed by the quoter; the exact parser handles every number.
  return quick.rows.some(hasFloat) ? findRows(parseJson(text, parseExactJson), name) : quick
}

/** The rows under `name`; throws `malformed` where there is no such list. */
export function findRows(value: unknown, name: string): RowList {
  const rows = isRecord(value) ? value[name] : undefined
  if (!isRecord(value) || !Array.isArray(rows)) throw malformed(`the body has no list "${name}"`)
  return { rows, envelope: value }
}

function hasFloat(row: unknown): boolean {
  if (!isRecord(row)) return false
  for (const key of keys) if (typeof row[key] === 'number') return true
  const instrument = row.instrument
  return isRecord(instrument) && typeof instrument.multiplier === 'number'
}

/** The text of a number as received; null when absent. Other types are returned as JSON text. */
export function numberText(row: Row, key: NumberKey): string | null {
  const value = row[key]
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  return value instanceof NumberText ? value.source : JSON.stringify(value)
}

/** The exact decimal, null when absent; throws `malformed` for what is no number (readings R23, R24b). */
export function readDecimal(row: Row, key: NumberKey): Decimal | null {
  const text = numberText(row, key)
  if (text === null) return null
  const value = parseDecimal(text)
  if (value === null) throw malformed(`a row's ${key} is not a number`)
  return value
}

/** Text, null when absent or empty; throws `malformed` for another type. */
export function readText(row: Row, key: string): string | null {
  const value = row[key]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw malformed(`a row's ${key} is not text`)
  return value
}

/** An object within a row, null when absent; throws `malformed` for another type. */
export function readPart(row: Row, key: string): Row | null {
  const value = row[key]
  if (value === undefined || value === null) return null
  if (!isRecord(value)) throw malformed(`a row's ${key} is not an object`)
  return value
}

/** A whole number that is not an amount: a count or an offset. */
export function readCount(row: Row, key: string): number | null {
  const value = row[key]
  const number = value instanceof NumberText ? Number(value.source) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

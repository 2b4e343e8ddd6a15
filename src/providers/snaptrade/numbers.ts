/**
 * Rows whose numbers keep every digit (reading R24): the listed keys arrive as text, whether
 * SnapTrade sends JSON numbers (activities) or decimal strings (positions), today or after a
 * change of mind.
 */
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { makeNumberQuoter, NumberText, parseExactJson } from '#kernel/json.ts'
import { pairNumbers } from '#kernel/number-pairs.ts'
import { decode, parseJson } from './body.ts'
import { malformed } from './failures.ts'

export type Row = Readonly<Record<string, unknown>>

const keys = ['price', 'units', 'amount', 'fee', 'cost_basis', 'multiplier'] as const
type NumberKey = (typeof keys)[number]
const quoteNumbers = makeNumberQuoter(keys)

export interface RowList {
  readonly rows: readonly unknown[]
  /** The object around the rows. */
  readonly envelope: Row
}

/** The numbers of an activity. */
const tradeKeys = ['price', 'units', 'amount', 'fee'] as const

export interface LazyRowList extends RowList {
  /** The same row with every number of interest as text; the page is read for that when it is first asked. */
  exactRow(index: number): unknown
}

/**
 * Parses a page of activities. Most of its rows are only counted: their numbers stay as they are until they are asked
 * for, which saves a third of reading a page.
 */
export function readLazyRows(body: Uint8Array, name: string): LazyRowList {
  const text = decode(body)
  const list = findRows(parseJson(text), name)
  let exact: readonly unknown[] | null = null
  function readExact(): readonly unknown[] {
    if (list.rows.every(isRow) && pairNumbers(text, list.rows, tradeKeys)) return list.rows
    return findRows(parseJson(text, parseExactJson), name).rows
  }
  return {
    ...list,
    exactRow(index) {
      exact ??= readExact()
      return exact[index]
    },
  }
}

/** Parses a body of rows under `name`, every number of interest as text. */
export function readRows(body: Uint8Array, name: string): RowList {
  const text = decode(body)
  const quick = findRows(parseJson(text, quoteNumbers), name)
  // A key spelled with \u escapes slips past the quoter; the exact parser sees every number.
  return quick.rows.some(hasFloat) ? findRows(parseJson(text, parseExactJson), name) : quick
}

function findRows(value: unknown, name: string): RowList {
  const rows = isRow(value) ? value[name] : undefined
  if (!isRow(value) || !Array.isArray(rows)) throw malformed(`the body has no list "${name}"`)
  return { rows, envelope: value }
}

function hasFloat(row: unknown): boolean {
  if (!isRow(row)) return false
  for (const key of keys) if (typeof row[key] === 'number') return true
  const instrument = row.instrument
  return isRow(instrument) && typeof instrument.multiplier === 'number'
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The text of a number as it was sent; null when there is none. Other types come back as JSON
 * text.
 */
export function numberText(row: Row, key: NumberKey): string | null {
  const value = row[key]
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  return value instanceof NumberText ? value.source : JSON.stringify(value)
}

/**
 * The exact decimal, null when absent; what is no number makes the row unreadable (readings R23,
 * R24b).
 */
export function readDecimal(row: Row, key: NumberKey): Decimal | null {
  const text = numberText(row, key)
  if (text === null) return null
  const value = parseDecimal(text)
  if (value === null) throw malformed(`a row's ${key} is no number`)
  return value
}

/** Text, null when absent or empty; another type makes the row unreadable. */
export function readText(row: Row, key: string): string | null {
  const value = row[key]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw malformed(`a row's ${key} is no text`)
  return value
}

/** An object within a row, null when absent; another type makes the row unreadable. */
export function readPart(row: Row, key: string): Row | null {
  const value = row[key]
  if (value === undefined || value === null) return null
  if (!isRow(value)) throw malformed(`a row's ${key} is no object`)
  return value
}

/** A whole number that is no amount: a count or an offset. */
export function readCount(row: Row, key: string): number | null {
  const value = row[key]
  const number = value instanceof NumberText ? Number(value.source) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

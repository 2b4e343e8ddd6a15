/**
 * Rows of SQLite as PostgreSQL's text format of COPY (PostgreSQL documentation, COPY, Text Format), written
 * as the server itself writes them, so that both texts can be compared. Every value is written exactly or
 * refused: no text is cut, no number rounded, no instant shifted.
 */
import type { SQLOutputValue } from 'node:sqlite'
import { StoreCopyError } from '../failure.ts'

/** The types of the portable subset (migrations/0001_store.sql), as SQLite has them declared. */
export type ColumnType =
  | 'uuid'
  | 'text'
  | 'timestamptz'
  | 'boolean'
  | 'integer'
  | 'bigint'
  | 'bytea'

export interface CopyColumn {
  readonly name: string
  readonly type: ColumnType
}

/** With these settings the server writes values as they are written here. For the transaction. */
export const textSettings = `
  set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex'
`

/** The text of a value that is not null; null: it is no value of this type. */
type ToText = (value: NonNullable<SQLOutputValue>) => string | null

const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
/** As `Date.toISOString` writes it, which is how the store writes instants on SQLite. */
const instantPattern = /^(?:\d{4}|[+-]\d{6})(-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{3})Z$/
const maxInt32 = 2 ** 31 - 1
const maxInt64 = 2n ** 63n - 1n

const texts: Readonly<Record<ColumnType, ToText>> = {
  uuid: (value) => (typeof value === 'string' && uuidPattern.test(value) ? value : null),
  // PostgreSQL's text has no NUL.
  text: (value) => (typeof value === 'string' && !value.includes('\0') ? escapeText(value) : null),
  timestamptz: (value) => (typeof value === 'string' ? toInstant(value) : null),
  boolean(value) {
    if (typeof value !== 'number' && typeof value !== 'bigint') return null
    return { 0: 'f', 1: 't' }[Number(value)] ?? null
  },
  integer(value) {
    if (typeof value !== 'number' && typeof value !== 'bigint') return null
    const number = Number(value)
    const fits = Number.isInteger(number) && number <= maxInt32 && number >= -maxInt32 - 1
    return fits ? String(number) : null
  },
  bigint(value) {
    const fits = typeof value === 'bigint' && value <= maxInt64 && value >= -maxInt64 - 1n
    return fits ? String(value) : null
  },
  bytea: (value) =>
    value instanceof Uint8Array ? `\\\\x${Buffer.from(value).toString('hex')}` : null,
}

/** `2026-11-20 03:15:00.12+00`: without zeros at the end, years before the first one by their era. */
function toInstant(value: string): string | null {
  const [, day = '', time = '', fraction = ''] = instantPattern.exec(value) ?? []
  const date = new Date(value)
  // A day such as 30 February is parsed as another day, or not at all.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== value) return null
  const year = date.getUTCFullYear()
  const [shown, era] = year > 0 ? [year, ''] : [1 - year, ' BC']
  const part = fraction.replace(/\.?0+$/, '')
  return `${String(shown).padStart(4, '0')}${day} ${time}${part}+00${era}`
}

const escapes: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

const escapeText = (text: string) =>
  text.replace(/[\b\f\n\r\t\v\\]/g, (found) => escapes[found] ?? '')

const meanings: Readonly<Record<ColumnType, string>> = {
  uuid: 'a UUID in lower case',
  text: 'text without NUL characters',
  timestamptz: 'an instant as 2026-11-20T03:15:00.123Z',
  boolean: '0 or 1',
  integer: 'a whole number of 32 bits',
  bigint: 'a whole number of 64 bits',
  bytea: 'bytes',
}

export function isColumnType(text: string): text is ColumnType {
  return Object.hasOwn(texts, text)
}

/** Integers of such columns are read as `bigint`: a JavaScript number has 53 bits. */
export function needsBigInts(columns: readonly CopyColumn[]): boolean {
  return columns.some(({ type }) => type === 'bigint')
}

/**
 * Makes the function that returns the line of a row, its values in the order of `columns`.
 * @param nameOf the row's name for a refusal.
 */
export function makeToLine(
  columns: readonly CopyColumn[],
  nameOf: (row: readonly SQLOutputValue[]) => string,
): (row: readonly SQLOutputValue[]) => string {
  return (row) => {
    const values = columns.map((column, index) => {
      const value = row[index] ?? null
      if (value === null) return '\\N'
      const text = texts[column.type](value)
      if (text === null) throw refusal(column, nameOf(row))
      return text
    })
    return `${values.join('\t')}\n`
  }
}

function refusal({ name, type }: CopyColumn, row: string): StoreCopyError {
  return new StoreCopyError(
    `the column ${name} of ${row} holds what PostgreSQL cannot hold there: it takes ${meanings[type]}. Nothing was copied; correct or delete the row`,
  )
}

/**
 * Converts between SQLite's five storage classes and the values of the queries. The declared type of a column
 * determines how it is read: booleans are 0 and 1, instants ISO 8601 text in UTC (which sorts by time), int8
 * is text as in `pg`.
 */
import type { SQLInputValue, SQLOutputValue, StatementColumnMetadata } from 'node:sqlite'

/** Converts a parameter for SQLite. @throws TypeError for a value that no column can hold. */
export function encodeParameter(value: unknown): SQLInputValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array || typeof value === 'bigint') return value
  throw new TypeError(`a ${typeof value} is not an SQL value`)
}

type Decoder = (value: NonNullable<SQLOutputValue>) => unknown

const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['boolean', (value) => value === 1],
  ['timestamptz', (value) => readInstant(String(value))],
  ['bigint', (value) => String(value)],
])

/** The last instant of the year 9999; later ones have no ISO 8601 text of four digits. */
const latestMs = 253_402_300_799_999

/**
 * SQLite holds any text in a column of times (PostgreSQL refuses it). One that is no time is read as 1970:
 * what has an end has ended then, and the row does not hide others. The doctor names it (`listDamaged`).
 */
function readInstant(text: string): number {
  const at = Date.parse(text)
  return Math.abs(at) <= latestMs ? at : 0
}

/** Makes the function that turns the values of a row into the object that `pg` would return. */
export function makeRowReader(
  columns: readonly StatementColumnMetadata[],
): (values: readonly SQLOutputValue[]) => Record<string, unknown> {
  const read = columns.map(({ name, type }) => ({ name, decode: decoders.get(type ?? '') }))
  return (values) => {
    const row: Record<string, unknown> = {}
    for (const [index, { name, decode }] of read.entries()) {
      const value = values[index] ?? null
      row[name] = value === null || decode === undefined ? value : decode(value)
    }
    return row
  }
}

/**
 * Converts between SQLite's five storage classes and the values of the queries. The declared type of a column
 * determines how it is read: booleans are 0 and 1, instants ISO 8601 text in UTC (which sorts by time), int8 is text
 * as in `pg`.
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
  ['timestamptz', (value) => Date.parse(String(value))],
  ['bigint', (value) => String(value)],
])

/** Converts rows in place to what `pg` would return; null when no column needs it. */
export function makeRowDecoder(
  columns: readonly StatementColumnMetadata[],
): ((row: Record<string, unknown>) => void) | null {
  const decoded = columns.flatMap(({ name, type }) => {
    const decode = decoders.get(type ?? '')
    return decode === undefined ? [] : [{ name, decode }]
  })
  if (decoded.length === 0) return null
  return (row) => {
    for (const { name, decode } of decoded) {
      const value = row[name] as SQLOutputValue
      if (value !== null) row[name] = decode(value)
    }
  }
}

/**
 * Rows of SQLite as PostgreSQL's binary format of COPY (PostgreSQL documentation, COPY, Binary Format). Every value is
 * encoded exactly or refused: no text is cut, no number rounded, no instant shifted.
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

export interface Column {
  readonly name: string
  readonly type: ColumnType
}

/** Before the first row: the signature, no flags, no extension. */
export const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** After the last row. */
export const trailer = Buffer.from([0xff, 0xff])

/** Grows as values demand; `take` empties it. */
export class RowBuffer {
  #bytes = Buffer.allocUnsafe(128 * 1024)
  #used = 0

  get used(): number {
    return this.#used
  }

  /** Room for `size` bytes; returns where they begin. */
  #claim(size: number): number {
    const at = this.#used
    this.#used += size
    if (this.#used > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(this.#used * 2)
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    return at
  }

  int16(value: number): void {
    const at = this.#claim(2)
    this.#bytes.writeInt16BE(value, at)
  }

  int32(value: number): void {
    const at = this.#claim(4)
    this.#bytes.writeInt32BE(value, at)
  }

  int64(value: bigint): void {
    const at = this.#claim(8)
    this.#bytes.writeBigInt64BE(value, at)
  }

  bytes(value: Uint8Array): void {
    const at = this.#claim(value.length)
    this.#bytes.set(value, at)
  }

  text(value: string): void {
    const size = Buffer.byteLength(value)
    this.int32(size)
    const at = this.#claim(size)
    this.#bytes.write(value, at)
  }

  hex(value: string, size: number): void {
    const at = this.#claim(size)
    this.#bytes.write(value, at, 'hex')
  }

  /** What was written, in memory of its own. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#used))
    this.#used = 0
    return taken
  }
}

/** Writes a value that is not null with its length before it; false: it is no value of this type. */
type Write = (out: RowBuffer, value: NonNullable<SQLOutputValue>) => boolean

const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
/** As `Date.toISOString` writes it, which is how the store writes instants on SQLite. */
const instantPattern = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
/** PostgreSQL counts microseconds from 2000-01-01. */
const epochMs = BigInt(Date.UTC(2000, 0, 1))
const maxInt32 = 2 ** 31 - 1
const maxInt64 = 2n ** 63n - 1n

const writers: Readonly<Record<ColumnType, Write>> = {
  uuid(out, value) {
    if (typeof value !== 'string' || !uuidPattern.test(value)) return false
    out.int32(16)
    out.hex(value.replaceAll('-', ''), 16)
    return true
  },
  text(out, value) {
    // PostgreSQL's text has no NUL.
    if (typeof value !== 'string' || value.includes('\0')) return false
    out.text(value)
    return true
  },
  timestamptz(out, value) {
    if (typeof value !== 'string' || !instantPattern.test(value)) return false
    const ms = Date.parse(value)
    // A day such as 30 February is parsed as another day, or not at all.
    if (Number.isNaN(ms) || new Date(ms).toISOString() !== value) return false
    out.int32(8)
    out.int64((BigInt(ms) - epochMs) * 1000n)
    return true
  },
  boolean(out, value) {
    if (Number(value) !== 0 && Number(value) !== 1) return false
    if (typeof value !== 'number' && typeof value !== 'bigint') return false
    out.int32(1)
    out.bytes(Number(value) === 1 ? Uint8Array.of(1) : Uint8Array.of(0))
    return true
  },
  integer(out, value) {
    if (typeof value !== 'number' && typeof value !== 'bigint') return false
    const number = Number(value)
    if (!Number.isInteger(number) || number > maxInt32 || number < -maxInt32 - 1) return false
    out.int32(4)
    out.int32(number)
    return true
  },
  bigint(out, value) {
    if (typeof value !== 'bigint' || value > maxInt64 || value < -maxInt64 - 1n) return false
    out.int32(8)
    out.int64(value)
    return true
  },
  bytea(out, value) {
    if (!(value instanceof Uint8Array)) return false
    out.int32(value.length)
    out.bytes(value)
    return true
  },
}

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
  return Object.hasOwn(writers, text)
}

/** Integers of such columns are read as `bigint`: a JavaScript number has 53 bits. */
export function needsBigInts(columns: readonly Column[]): boolean {
  return columns.some(({ type }) => type === 'bigint')
}

/**
 * Makes the function that appends a row, its values in the order of `columns`.
 * @param nameOf the row's name for a refusal.
 */
export function makeRowWriter(
  columns: readonly Column[],
  nameOf: (row: readonly SQLOutputValue[]) => string,
): (out: RowBuffer, row: readonly SQLOutputValue[]) => void {
  const writes = columns.map(({ type }) => writers[type])
  return (out, row) => {
    out.int16(writes.length)
    for (const [index, write] of writes.entries()) {
      const value = row[index] ?? null
      if (value === null) out.int32(-1)
      else if (!write(out, value)) throw refusal(columns[index], nameOf(row))
    }
  }
}

function refusal(column: Column | undefined, row: string): StoreCopyError {
  const { name = '', type = 'text' } = column ?? {}
  return new StoreCopyError(
    `the column ${name} of ${row} holds what PostgreSQL cannot hold there: it takes ${meanings[type]}. Nothing was copied; correct or delete the row`,
  )
}

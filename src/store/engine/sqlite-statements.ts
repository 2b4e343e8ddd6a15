/**
 * One SQLite connection with the interface that Kysely's SQLite dialect expects: statements are prepared once
 * and kept, values pass through the codec, and disk failures are distinguished from bugs.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { StoreUnavailableError } from '../failure.ts'
import { encodeParameter, makeRowReader } from './sqlite-codec.ts'

// The program has a few dozen statements; only lists of varying length could make more.
const maxStatements = 256

/** Wraps an open connection; `close` closes it. */
export function makeStatements(db: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      const known = statements.get(text)
      if (known !== undefined) return known
      if (statements.size >= maxStatements) statements.clear()
      const statement = text === 'rollback' ? makeRollback(db) : makeStatement(db, text)
      statements.set(text, statement)
      return statement
    },
    close: () => db.close(),
  }
}

/** Runs a step of SQLite. @throws StoreUnavailableError when the file fails, not the statement. */
export function onDisk<Result>(step: () => Result): Result {
  try {
    return step()
  } catch (error) {
    throw toStoreError(error)
  }
}

/** SQLite's primary result code of an error, or null when the error is not SQLite's. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null
}

function makeStatement(db: DatabaseSync, text: string): SqliteStatement {
  const statement = onDisk(() => db.prepare(text))
  const columns = statement.columns()
  const read = makeRowReader(columns)
  // An object without a prototype, which `node:sqlite` would make of each row, takes as long as the row.
  statement.setReturnArrays(true)
  return {
    reader: columns.length > 0,
    all: (parameters) =>
      onDisk(() => {
        const found = toArrays(statement.all(...parameters.map(encodeParameter)))
        return found.map(read)
      }),
    run: (parameters) => onDisk(() => statement.run(...parameters.map(encodeParameter))),
    iterate() {
      throw new Error('rows are read in bounded lists, not streamed')
    },
  }
}

/** What `setReturnArrays` makes of the rows is missing in the types of `node:sqlite`. */
const toArrays = (rows: unknown) => rows as readonly (readonly SQLOutputValue[])[]

/** SQLite rolls back by itself when the disk is full; a second rollback would hide the original error. */
function makeRollback(db: DatabaseSync): SqliteStatement {
  const nothing = { changes: 0, lastInsertRowid: 0 }
  const rollback = db.prepare('rollback')
  return {
    reader: false,
    all: () => [],
    run: () => (db.isTransaction ? onDisk(() => rollback.run()) : nothing),
    iterate: () => [][Symbol.iterator](),
  }
}

/** Result codes (sqlite.org/rescode.html) of failures in the file, not in the statement. */
const diskTroubles: ReadonlyMap<number, string> = new Map([
  [5, 'the store is locked by another process'],
  [6, 'the store is locked'],
  [7, 'there is no memory left for the store'],
  [8, 'the store is read-only'],
  [10, 'the disk under the store does not read or write'],
  [11, 'the store file is damaged'],
  [13, 'the disk under the store is full'],
  [14, 'the store file cannot be opened'],
  [26, 'the store file is not an SQLite database'],
])

function toStoreError(error: unknown): unknown {
  const trouble = diskTroubles.get(sqliteCode(error) ?? 0)
  return trouble === undefined ? error : new StoreUnavailableError(trouble, { cause: error })
}

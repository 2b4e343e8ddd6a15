/**
 * The embedded engine: `node:sqlite`, one writing connection whose transactions follow one another, and one reading
 * connection that sees only what is committed. Durable through power loss (WAL, `synchronous = full`).
 */
import { DatabaseSync } from 'node:sqlite'
import { type CompiledQuery, Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import { StoreOpenError, StoreUnavailableError } from '../failure.ts'
import type { Engine, StoreLog } from './engine.ts'
import { enterDirectory, type SqliteDirectory } from './sqlite-directory.ts'
import { makeStatements, onDisk, sqliteCode } from './sqlite-statements.ts'
import type { Tables } from './tables.ts'

// An operator's own tool may hold the file for a moment. Waiting stops the whole process, so it is short.
const busyTimeoutMs = 250

/** Deleted rows are overwritten, and the log of changes does not keep them for long. */
const settings = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma secure_delete = on;
  pragma trusted_schema = off;
  pragma journal_size_limit = 16777216;
`

/**
 * Opens the store in `dataDir`, alone.
 * @throws StoreOpenError `in_use`, `not_writable` or `damaged`.
 */
export function openSqlite(dataDir: string, log: StoreLog): Engine {
  const directory = enterDirectory(dataDir, log)
  const opened: DatabaseSync[] = []
  try {
    const connect = (readOnly: boolean): DatabaseSync => {
      const db = new DatabaseSync(directory.databasePath, { readOnly, timeout: busyTimeoutMs })
      opened.push(db)
      return db
    }
    return onDisk(() => {
      const writer = connect(false)
      writer.exec(settings)
      return makeEngine(makeStatements(writer), makeStatements(connect(true)), directory)
    })
  } catch (cause) {
    for (const db of opened) db.close()
    directory.release()
    throw toOpenError(directory.databasePath, cause)
  }
}

/** 11, 26: the file is no sound database. Anything else of the disk may be mended without a backup. */
function toOpenError(path: string, cause: unknown): unknown {
  if (!(cause instanceof StoreUnavailableError)) return cause
  const code = sqliteCode(cause.cause)
  const reason = code === 11 || code === 26 ? 'damaged' : 'not_writable'
  return new StoreOpenError(reason, `${path}: ${cause.message}`, { cause })
}

function makeEngine(
  writer: SqliteDatabase,
  reader: SqliteDatabase,
  directory: SqliteDirectory,
): Engine {
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: writer }) })
  return {
    kind: 'sqlite',
    db,
    prepare<Row>(_name: string, query: CompiledQuery<Row>) {
      return async (parameters: readonly unknown[]) =>
        // The rows of a compiled query have the type that the query was built with.
        reader.prepare(query.sql).all(parameters)[0] as Row | undefined
    },
    // The directory lock keeps other processes out, the one writer keeps other transactions out.
    lockSchema: async () => {},
    announce: async () => {},
    listen: async () => {},
    async ping() {
      await sql`select 1`.execute(db)
    },
    async close() {
      try {
        reader.close()
        // The last connection to close writes the log back into the file and removes it.
        await db.destroy()
      } finally {
        directory.release()
      }
    },
  }
}

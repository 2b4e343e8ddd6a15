/**
 * The embedded engine: `node:sqlite` with one writing connection, whose transactions run one after another,
 * one reading connection that sees committed data only, and one for the separate file of the event keys.
 * Commits survive a power loss (WAL, `synchronous = full`).
 */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type CompiledQuery, Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import { StoreUnavailableError } from '../failure.ts'
import type { StoreLog } from '../log.ts'
import { type Engine, runNow } from './engine.ts'
import { makeKeptQueries } from './kept-queries.ts'
import { describeExposure, enterDirectory, type SqliteDirectory } from './sqlite-directory.ts'
import { ifKeysDamaged, ifStoreDamaged, openFile } from './sqlite-file.ts'
import { makeStatements } from './sqlite-statements.ts'
import type { Tables } from './tables.ts'

// An operator's tool may lock the file briefly. Waiting blocks the whole process, so the timeout is short.
const busyTimeoutMs = 250

/**
 * `secure_delete` overwrites deleted rows; `journal_size_limit` bounds the log that may still contain them.
 */
const settings = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma secure_delete = on;
  pragma trusted_schema = off;
  pragma journal_size_limit = 16777216;
`

/**
 * Opens the store in `dataDir` for this process only.
 * @throws StoreOpenError `in_use`, `not_writable` or `damaged`.
 */
export function openSqlite(dataDir: string, log: StoreLog): Engine {
  const directory = enterDirectory(dataDir, log)
  const opened: DatabaseSync[] = []
  try {
    const connect = (path: string, readOnly: boolean): DatabaseSync => {
      const db = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs })
      opened.push(db)
      return db
    }
    const { databasePath, keysPath } = directory
    const [writer, reader] = openFile({ path: databasePath, ifDamaged: ifStoreDamaged }, () => {
      const db = connect(databasePath, false)
      db.exec(settings)
      // PostgreSQL has it by itself.
      db.function('gen_random_uuid', { directOnly: true }, () => randomUUID())
      return [db, connect(databasePath, true)]
    })
    const keys = openFile({ path: keysPath, ifDamaged: ifKeysDamaged }, () => {
      const db = connect(keysPath, false)
      db.exec(settings)
      return db
    })
    return makeEngine({ writer, reader, keys, directory })
  } catch (cause) {
    for (const db of opened) db.close()
    directory.release()
    throw cause
  }
}

interface Opened {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync
  readonly keys: DatabaseSync
  readonly directory: SqliteDirectory
}

function makeEngine({ writer, reader: readerFile, keys: keysFile, directory }: Opened): Engine {
  const reader: SqliteDatabase = makeStatements(readerFile)
  const db = toKysely(writer)
  const keys = toKysely(keysFile)
  /** Commits that are not synced themselves are synced with the next that is (sqlite.org/pragma.html). */
  async function withoutSync<Result>(work: () => Promise<Result>): Promise<Result> {
    // This statement is not kept, because SQLite sets this while it prepares the text.
    writer.exec('pragma synchronous = normal')
    try {
      return await work()
    } finally {
      writer.exec('pragma synchronous = full')
    }
  }
  return {
    kind: 'sqlite',
    db,
    transaction: (work, mayBeLost) =>
      mayBeLost
        ? db.connection().execute((alone) => withoutSync(() => alone.transaction().execute(work)))
        : db.transaction().execute(work),
    queries: makeKeptQueries(),
    // The type of the rows is that of the query.
    findRow: async <Row>({ sql, parameters }: CompiledQuery<Row>) =>
      reader.prepare(sql).all(parameters)[0] as Row | undefined,
    later: runNow,
    // The directory lock excludes other processes, the single writer other transactions.
    lockSchema: async () => {},
    lock: async () => {},
    announce: async () => {},
    listen: async () => {},
    keysOf: () => keys,
    prepareKeys: async (_tx, prepare) => {
      await keys.transaction().execute(prepare)
    },
    scrubKeys: () => truncateLog(keys),
    describeKeys: async () => ({
      place: directory.keysPath,
      exposure: describeExposure(directory.keysPath),
    }),
    async ping() {
      await sql`select 1`.execute(db)
    },
    keepsSession: async () => true,
    async close() {
      try {
        reader.close()
        // Closing the last connection writes the log into the file and deletes the log.
        await db.destroy()
        await keys.destroy()
      } finally {
        directory.release()
      }
    },
  }
}

export function toKysely(file: DatabaseSync): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: makeStatements(file) }) })
}

/** The log holds what was deleted until it is written back and overwritten in the file (`secure_delete`). */
async function truncateLog(keys: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(keys)
  if (rows[0]?.busy !== 0)
    throw new StoreUnavailableError('another process reads the file of the event keys')
}

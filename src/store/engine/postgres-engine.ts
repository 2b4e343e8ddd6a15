/**
 * The engine for several processes on one database: PostgreSQL 15 or newer over `pg`. All tables are in the
 * connection's current schema, except the keys of events, which have a schema of their own.
 */
import { createHash, randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import { StoreOpenError, StoreUnavailableError, toAdvice } from '../failure.ts'
import type { StoreLog } from '../log.ts'
import { type Engine, runNow } from './engine.ts'
import { makeKeptQueries } from './kept-queries.ts'
import { toConnectError, toTarget } from './postgres-failure.ts'
import { makeKeySchema } from './postgres-key-schema.ts'
import { startListener, toChangeTexts } from './postgres-listener.ts'
import { DeferredValues } from './postgres-pipeline.ts'
import { makePool } from './postgres-pool.ts'
import { explainTlsPort } from './postgres-port.ts'
import { keepsSession } from './postgres-session.ts'
import type { Tables } from './tables.ts'

const oldestVersion = 150_000
// SQL_ASCII stores the bytes of UTF-8 as they come (PostgreSQL documentation, Character Set Support). Every
// other encoding lacks characters that names of people and accounts have.
const encodings: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])
// The first half of the advisory lock's key ("trib"); the second half is derived from the schema.
const lockSpace = 0x74_72_69_62
// Processes that start at the same time wait for the one that migrates.
const migrationTimeout = '10min'
const closeTimeoutMs = 5_000

/**
 * Connects, and refuses servers older than the migrations support, and databases that cannot hold the store.
 * @throws StoreOpenError `unreachable`, `too_old`, `wrong_encoding`, `no_schema` or `shared_session`.
 */
export async function openPostgres(
  databaseUrl: string,
  log: StoreLog,
  given?: PostgresPool,
): Promise<Engine> {
  const pool = given ?? makePool(databaseUrl)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  try {
    // A pool that is given may have one connection, which notices nothing of a pooler.
    const hasPool = given === undefined
    const checkSession = async () => !hasPool || keepsSession(db)
    const { version, encoding, schema, isKept } = await inspect(db, databaseUrl, checkSession)
    if (version < oldestVersion)
      throw new StoreOpenError(
        'too_old',
        `PostgreSQL ${Math.floor(version / 10_000)} is too old: version 15 or newer is needed`,
      )
    if (!encodings.has(encoding))
      throw new StoreOpenError(
        'wrong_encoding',
        `the database has the encoding ${encoding}, which cannot hold every name: make one by \`createdb --encoding=UTF8 --template=template0\`; pg_dump and pg_restore move there what it holds`,
      )
    if (schema === null)
      throw new StoreOpenError(
        'no_schema',
        'no schema of the search_path exists in the database: create it, or correct the search_path of the role or of DATABASE_URL',
      )
    if (!isKept)
      throw new StoreOpenError(
        'shared_session',
        'the pooler in front of PostgreSQL changes the session between transactions or statements: let it keep one for each connection (PgBouncer: pool_mode = session), or name PostgreSQL itself in DATABASE_URL',
      )
    return makeEngine({ db, databaseUrl, schema, log, checkSession })
  } catch (error) {
    await db.destroy()
    throw error
  }
}

async function inspect(
  db: Kysely<Tables>,
  databaseUrl: string,
  checkSession: () => Promise<boolean>,
) {
  try {
    const { rows } = await sql<{ version: string; encoding: string; schema: string | null }>`
      select current_setting('server_version_num') as version,
        current_setting('server_encoding') as encoding, current_schema() as schema
    `.execute(db)
    const { version = '', encoding = '', schema = null } = rows[0] ?? {}
    const isKept = await checkSession()
    return { version: Number(version), encoding, schema, isKept }
  } catch (cause) {
    const failure = toConnectError(cause, toTarget(databaseUrl))
    if (!(failure instanceof StoreUnavailableError)) throw failure
    const advice = (await explainTlsPort(databaseUrl, cause)) ?? toAdvice(failure)
    throw new StoreOpenError('unreachable', advice, { cause })
  }
}

interface Parts {
  readonly db: Kysely<Tables>
  readonly databaseUrl: string
  readonly schema: string
  readonly log: StoreLog
  readonly checkSession: () => Promise<boolean>
}

function makeEngine({ db, databaseUrl, schema, log, checkSession }: Parts): Engine {
  const instance = randomUUID()
  // Channels are per database: with the schema in its name two stores in one do not mix.
  const channel = `tributary_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`
  const keySchema = makeKeySchema(schema)
  let stopListening: () => Promise<void> = async () => {}
  return {
    kind: 'postgres',
    db,
    queries: makeKeptQueries(),
    findRow: async (query) => (await db.executeQuery(query)).rows[0],
    later,
    transaction: (work, mayBeLost) =>
      db.transaction().execute(async (tx) => {
        // It does not wait until the server's log is on disk, within three times `wal_writer_delay`.
        if (mayBeLost) await later(tx, withoutWaiting.compile(tx))
        return work(tx)
      }),
    async lockSchema(tx) {
      await sql`set local statement_timeout = ${sql.lit(migrationTimeout)}`.execute(tx)
      await sql`select pg_advisory_xact_lock(${lockSpace}::int, hashtext(${schema}))`.execute(tx)
    },
    async lock(tx, name) {
      const key = `${schema} ${name}`
      await sql`select pg_advisory_xact_lock(${lockSpace}::int, hashtext(${key}))`.execute(tx)
    },
    async announce(tx, news) {
      for (const message of toChangeTexts(instance, news))
        await later(tx, sql`select pg_notify(${channel}, ${message})`.compile(tx))
    },
    async listen(listeners) {
      stopListening = await startListener({ databaseUrl, channel, instance, listeners, log })
    },
    keysOf: (of) => of.withSchema(keySchema.name),
    prepareKeys: (tx, prepare) => keySchema.prepare(tx, prepare),
    // Deleted rows are freed by vacuum, and the log of changes is the server's.
    scrubKeys: async () => {},
    describeKeys: () => keySchema.describe(db),
    async ping() {
      await sql`select 1`.execute(db)
    },
    keepsSession: checkSession,
    close: () => withTimeout(Promise.all([stopListening(), db.destroy()])),
  }
}

const withoutWaiting = sql`set local synchronous_commit = off`

const later: Engine['later'] = async (tx, query, expected = {}) => {
  if (!tx.isTransaction) return runNow(tx, query, expected)
  await tx.executeQuery({ ...query, parameters: [new DeferredValues(query.parameters, expected)] })
}

/** A server that vanished never confirms the close; this bounds the wait. */
async function withTimeout(closing: Promise<unknown>): Promise<void> {
  const waiting = Promise.withResolvers<void>()
  const timer = setTimeout(waiting.resolve, closeTimeoutMs)
  try {
    await Promise.race([closing, waiting.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The grown-up engine: PostgreSQL 15 or newer over `pg`, several processes on one database. Everything of the store
 * lives in the connection's current schema.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { StoreOpenError } from '../failure.ts'
import type { Engine, StoreLog } from './engine.ts'
import { startListener, toMessage } from './postgres-listener.ts'
import { makePool, type StorePool } from './postgres-pool.ts'
import type { Tables } from './tables.ts'

const oldestVersion = 150_000
// The first half of the advisory lock's name ("trib"); the second is the schema.
const lockSpace = 0x74_72_69_62
// Several starts wait for the one that migrates.
const migrationTimeout = '10min'
const closeTimeoutMs = 5_000

/**
 * Connects, and refuses servers that the migrations were not written for.
 * @throws StoreOpenError `unreachable` or `too_old`.
 */
export async function openPostgres(databaseUrl: string, log: StoreLog): Promise<Engine> {
  const pool = makePool(databaseUrl)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool.forKysely }) })
  try {
    const { version, schema } = await inspect(db, databaseUrl)
    if (version < oldestVersion)
      throw new StoreOpenError(
        'too_old',
        `PostgreSQL ${Math.floor(version / 10_000)} is too old: version 15 or newer is needed`,
      )
    return makeEngine({ db, pool, databaseUrl, schema, log })
  } catch (error) {
    await db.destroy()
    throw error
  }
}

async function inspect(db: Kysely<Tables>, databaseUrl: string) {
  try {
    const { rows } = await sql<{ version: string; schema: string | null }>`
      select current_setting('server_version_num') as version, current_schema() as schema
    `.execute(db)
    return { version: Number(rows[0]?.version), schema: rows[0]?.schema ?? '' }
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    throw new StoreOpenError('unreachable', `${nameOf(databaseUrl)} cannot be used: ${words}`, {
      cause,
    })
  }
}

/** The server as the operator knows it, without the password. */
function nameOf(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return 'the database of DATABASE_URL'
  const { host, pathname } = new URL(databaseUrl)
  return `the database ${host}${pathname}`
}

interface Parts {
  readonly db: Kysely<Tables>
  readonly pool: StorePool
  readonly databaseUrl: string
  readonly schema: string
  readonly log: StoreLog
}

function makeEngine({ db, pool, databaseUrl, schema, log }: Parts): Engine {
  const instance = randomUUID()
  // Channels belong to the database: two stores in schemas of one database must not hear each other.
  const channel = `tributary_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`
  let stopListening: () => Promise<void> = async () => {}
  return {
    kind: 'postgres',
    db,
    prepare<Row>(name: string, query: CompiledQuery<Row>) {
      return async (parameters: readonly unknown[]) =>
        // The rows of a compiled query have the type that the query was built with.
        (await pool.named(name, query.sql, parameters))[0] as Row | undefined
    },
    async lockSchema(tx) {
      await sql`set local statement_timeout = ${sql.lit(migrationTimeout)}`.execute(tx)
      await sql`select pg_advisory_xact_lock(${lockSpace}::int, hashtext(${schema}))`.execute(tx)
    },
    async announce(tx, userIds) {
      for (const userId of userIds)
        await sql`select pg_notify(${channel}, ${toMessage(instance, userId)})`.execute(tx)
    },
    async listen(hear) {
      stopListening = await startListener({ databaseUrl, channel, instance, hear, log })
    },
    async ping() {
      await sql`select 1`.execute(db)
    },
    close: () => withTimeout(Promise.all([stopListening(), db.destroy()])),
  }
}

/** A server that went away without a word never says goodbye; the process ends without it. */
async function withTimeout(closing: Promise<unknown>): Promise<void> {
  const waiting = Promise.withResolvers<void>()
  const timer = setTimeout(waiting.resolve, closeTimeoutMs)
  try {
    await Promise.race([closing, waiting.promise])
  } finally {
    clearTimeout(timer)
  }
}

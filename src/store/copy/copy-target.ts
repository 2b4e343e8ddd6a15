/**
 * PostgreSQL as the target of a copy: one connection with waits long enough for it, what its schema holds
 * before, and the schema that this version makes.
 */

import { type PostgresPool, sql } from 'kysely'
import { Client } from 'pg'
import { minuteMs } from '#kernel/time.ts'
import type { Engine } from '../engine/engine.ts'
import { createMigrationList, migrate } from '../engine/migrate.ts'
import { openPostgres } from '../engine/postgres-engine.ts'
import { sqlState, toConnectError, toStoreError, toTarget } from '../engine/postgres-failure.ts'
import { makeKeySchema } from '../engine/postgres-key-schema.ts'
import { connectionSettings, limitSession } from '../engine/postgres-pool.ts'
import type { Db } from '../engine/tables.ts'
import { isUnfinishedCopy, markUnfinished, removeMark } from '../engine/unfinished-copy.ts'
import { sealUrls } from '../events/seal-urls.ts'
import { StoreCopyError, StoreOpenError, StoreUnavailableError, toAdvice } from '../failure.ts'
import type { Sealer } from '../seal.ts'
import type { CopyPlace } from './copy-source.ts'

export interface CopyTarget {
  readonly engine: Engine
  /** The one connection, on which the transactions of `engine` run too. */
  readonly client: Client
}

/** Limits: connecting, one statement (a batch, or a whole table), nothing sent or received. */
const connectTimeoutMs = 10_000
const statementTimeoutMs = 30 * minuteMs
const silenceMs = statementTimeoutMs + minuteMs
/** A copy that was killed is noticed by the server within moments. */
const lockTimeout = '20s'

/** @throws StoreOpenError as `openPostgres`. */
export async function openTarget(databaseUrl: string): Promise<CopyTarget> {
  const client = new Client({
    ...connectionSettings(databaseUrl),
    application_name: 'tributary store copy',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: 0,
  })
  // The query in progress reports the failure too.
  client.on('error', () => {})
  const engine = await openPostgres(databaseUrl, () => {}, makeSinglePool(client, databaseUrl))
  return { engine, client }
}

/** A pool of one connection that stays open. */
function makeSinglePool(client: Client, databaseUrl: string): PostgresPool {
  const target = toTarget(databaseUrl)
  let connected: Promise<unknown> | undefined
  async function connect(): Promise<void> {
    connected ??= client
      .connect()
      .then(() => limitSession(client, statementTimeoutMs, statementTimeoutMs))
    try {
      await connected
    } catch (error) {
      throw toConnectError(error, target)
    }
    // The driver does not publish its connection.
    const { stream } = (client as unknown as { connection: { stream: import('node:net').Socket } })
      .connection
    stream.setTimeout(silenceMs, () => stream.destroy(new Error('timeout expired')))
  }
  const query = async (text: string, values: readonly unknown[]) => {
    try {
      return await client.query(text, [...values])
    } catch (error) {
      throw toStoreError(error, target)
    }
  }
  return {
    async connect() {
      await connect()
      // Kysely's cursor overload is never used.
      return { query: query as never, release: () => {} }
    },
    end: () => client.end(),
    options: {},
  }
}

/**
 * Takes the lock of the schema until the transaction ends.
 * @throws StoreCopyError when another process holds it.
 */
export async function lockTarget({ engine }: CopyTarget, tx: Db): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(lockTimeout)}`.execute(tx)
  try {
    await engine.lockSchema(tx)
  } catch (error) {
    // 55P03: lock_not_available.
    if (!(error instanceof StoreUnavailableError) || sqlState(error.cause) !== '55P03') throw error
    throw new StoreCopyError(
      'another process is preparing this database: a copy that still runs, or a service that starts. Wait for its end, or stop it',
      { cause: error },
    )
  }
  await sql`set local statement_timeout = ${sql.lit(statementTimeoutMs)}`.execute(tx)
  // What is verified and committed must outlive a crash of the server, however it is configured.
  await sql`set local synchronous_commit = on`.execute(tx)
}

/**
 * Marks an empty database as the target of a copy; one that an earlier copy of the same store has marked
 * stays so. Called with the lock.
 * @throws StoreCopyError for any other.
 */
export async function claimTarget(tx: Db, fingerprint: string): Promise<void> {
  const tables = await listRelations(tx)
  const others = tables.filter((name) => name !== 'schema_migrations')
  if (others.length > 0) throw await occupied(tx, others)
  await createMigrationList(tx)
  const rows = await tx.selectFrom('schema_migrations').selectAll().execute()
  const [row] = rows
  if (row === undefined) return markUnfinished(tx, fingerprint)
  if (rows.length > 1 || !isUnfinishedCopy(row)) throw await occupied(tx, tables)
  if (row.checksum !== fingerprint)
    throw new StoreCopyError(
      'the database holds the unfinished copy of another store, or of this one under another key: name an empty database',
    )
}

/** Tables, views and sequences of the store's schema and the event keys', without those of extensions. */
async function listRelations(tx: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in (current_schema(), ${await keySchemaOf(tx)})
      and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (
        select 1 from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
      )
    order by c.relname
  `.execute(tx)
  return rows.map(({ name }) => name)
}

async function keySchemaOf(tx: Db): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`
    select current_schema() as schema
  `.execute(tx)
  return makeKeySchema(rows[0]?.schema ?? '').name
}

async function occupied(tx: Db, tables: readonly string[]): Promise<StoreCopyError> {
  const copiedAt = tables.includes('meta') ? await readCopiedAt(tx) : undefined
  if (copiedAt !== undefined)
    return new StoreCopyError(
      `the database holds a finished copy, verified on ${copiedAt}: start the service on it. For another copy name an empty database`,
    )
  const [some, rest] = [tables.slice(0, 5), tables.length - 5]
  const more = rest > 0 ? ` and ${rest} more` : ''
  return new StoreCopyError(
    `the database is not empty (${some.join(', ')}${more}): a store is copied only into an empty one. Name another, for example by \`createdb\``,
  )
}

const copiedName = 'copied_at'

/** Undefined: this store was not made by a copy. */
async function readCopiedAt(tx: Db): Promise<string | undefined> {
  const row = await tx
    .selectFrom('meta')
    .select('value')
    .where('name', '=', copiedName)
    .executeTakeFirst()
  return row?.value
}

/** The last step: from the commit on, a service may open the store, and no copy goes into it. */
export async function recordCopy(tx: Db, at: Date): Promise<void> {
  await tx.insertInto('meta').values({ name: copiedName, value: at.toISOString() }).execute()
}

/** Makes the tables of this version, in the transaction that fills them. */
export async function prepareTarget({ engine }: CopyTarget, tx: Db, sealer: Sealer): Promise<void> {
  await removeMark(tx)
  await migrate(tx, 'migrations')
  await engine.prepareKeys(tx, (db) => migrate(db, 'key-migrations'))
  await sealUrls({ db: tx, kind: 'postgres' }, sealer)
}

export interface TargetColumn {
  readonly place: CopyPlace
  readonly schema: string
  readonly table: string
  readonly name: string
  /** The name that PostgreSQL has for it. */
  readonly type: string
}

export async function listTargetColumns(tx: Db): Promise<readonly TargetColumn[]> {
  const keySchema = await keySchemaOf(tx)
  const { rows } = await sql<Omit<TargetColumn, 'place'>>`
    select n.nspname as schema, c.relname as table, a.attname as name,
      format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in (current_schema(), ${keySchema}) and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped and c.relname <> 'schema_migrations'
  `.execute(tx)
  return rows.map((row) => ({ ...row, place: row.schema === keySchema ? 'keys' : 'store' }))
}

/** Why the copy ended, as a message for the operator; bugs of ours are returned unchanged. */
export function toCopyFailure(thrown: unknown, databaseUrl: string): unknown {
  const error = toStoreError(thrown, toTarget(databaseUrl))
  if (sqlState(error) !== null) {
    const message = `PostgreSQL refused what was copied: ${(error as Error).message}`
    return new StoreCopyError(message, { cause: error })
  }
  if (!(error instanceof StoreUnavailableError)) return error
  // 42501: insufficient_privilege.
  if (sqlState(error.cause) !== '42501')
    return new StoreOpenError('unreachable', toAdvice(error), { cause: error })
  return new StoreOpenError(
    'not_writable',
    'the user of the URL may not make tables there: grant it CREATE on the schema and the database, or make it their owner',
    { cause: error },
  )
}

/**
 * The store as operators see it: engine, schema, rows under older keys, connections that need action. It runs only on
 * an operator's request; it changes nothing, although it checks that the store accepts a write.
 */
import { sql } from 'kysely'
import type { Provider } from '#contract/resources.ts'
import type { StoredStatus } from '../ports/connections.ts'
import type { StoreCondition, StoreInspector, TroubledConnection } from '../ports/inspector.ts'
import type { Sealer } from '../seal.ts'
import type { Engine } from './engine.ts'
import { countMigrations } from './migrate.ts'
import { inspectRiver } from './river-inspector.ts'
import { listAgedKeys, sealedTables } from './sealed-tables.ts'
import type { Db } from './tables.ts'

export function makeInspector(engine: Engine, sealer: Sealer): StoreInspector {
  const { db } = engine
  return {
    examine: () => examine(engine),
    async countAged(limit) {
      let count = 0
      for (const table of sealedTables) {
        let room = limit
        for (const key of await listAgedKeys(engine, table, sealer)) {
          if (room === 0) break
          const rows = await table.list(engine, sealer, { key, after: null, limit: room })
          count += rows.length
          room -= rows.length
        }
      }
      return count
    },
    countConnections: () => countConnections(db),
    listProviders: () => listProviders(db),
    listTroubled: (limit) => listTroubled(db, limit),
    ...inspectRiver(engine),
  }
}

async function examine({ kind, db }: Engine): Promise<StoreCondition> {
  // Committed and flushed to disk like any other write: only this detects a full or read-only store.
  await db
    .updateTable('meta')
    .set((row) => ({ value: row.ref('value') }))
    .where('name', '=', 'mode')
    .execute()
  const migrations = await db
    .selectFrom('schema_migrations')
    .select('name')
    .orderBy('number')
    .execute()
  const about = kind === 'sqlite' ? await askSqlite(db) : await askPostgres(db)
  return {
    engine: kind,
    ...about,
    migrations: migrations.map(({ name }) => name),
    unknownMigrations: Math.max(0, migrations.length - countMigrations()),
  }
}

type About = Pick<StoreCondition, 'version' | 'theirTimeMs'>

async function askSqlite(db: Db): Promise<About> {
  const { rows } = await sql<{ version: string }>`select sqlite_version() as version`.execute(db)
  return { version: rows[0]?.version ?? 'unknown', theirTimeMs: null }
}

async function askPostgres(db: Db): Promise<About> {
  const { rows } = await sql<{ version: string; now: number }>`
    select current_setting('server_version') as version, clock_timestamp() as now
  `.execute(db)
  return { version: rows[0]?.version ?? 'unknown', theirTimeMs: rows[0]?.now ?? null }
}

async function countConnections(db: Db): Promise<Readonly<Record<StoredStatus, number>>> {
  const rows = await db
    .selectFrom('connections')
    .select(['status', ({ fn }) => fn.countAll().as('count')])
    .groupBy('status')
    .execute()
  const counts = { active: 0, invalidated: 0, pending_mfa: 0, revoked: 0, deleting: 0 }
  // PostgreSQL counts in int8, which `pg` returns as text.
  for (const { status, count } of rows) counts[status] = Number(count)
  return counts
}

async function listProviders(db: Db): Promise<readonly Provider[]> {
  const rows = await db.selectFrom('logins').select('provider').distinct().execute()
  return rows.map(({ provider }) => provider)
}

function listTroubled(db: Db, limit: number): Promise<readonly TroubledConnection[]> {
  return db
    .selectFrom('connections')
    .innerJoin('users', 'users.id', 'connections.user_id')
    .select([
      'connections.id as id',
      'users.email as email',
      'connections.provider as provider',
      'connections.institution_name as institutionName',
    ])
    .select((row) =>
      row.ref('connections.status').$castTo<TroubledConnection['status']>().as('status'),
    )
    .where('connections.status', '<>', 'active')
    .orderBy('connections.created_at')
    .orderBy('connections.id')
    .limit(limit)
    .execute()
}

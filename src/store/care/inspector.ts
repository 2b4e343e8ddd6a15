/**
 * The store as operators see it: engine, schema, rows under older keys, connections that need action. It runs
 * only on an operator's request; it changes nothing, although it checks that the store accepts a write.
 */
import { sql } from 'kysely'
import type { Provider } from '#contract/resources.ts'
import type { Engine } from '../engine/engine.ts'
import { countMigrations } from '../engine/migrate.ts'
import { type Db, isBefore } from '../engine/tables.ts'
import type { StoredStatus } from '../ports/connections.ts'
import type {
  LinkedConnection,
  ProviderUse,
  StaleConnection,
  StoreCondition,
  StoreInspector,
  TroubledConnection,
} from '../ports/inspector.ts'
import type { Sealer } from '../seal.ts'
import { listDamaged } from './damaged-rows.ts'
import { listFailing, listUsedLogins } from './failing-inspector.ts'
import { inspectRiver } from './river-inspector.ts'
import { listAgedKeys, sealedTables } from './sealed-tables.ts'

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
    listUse: (limit) => listUse(db, limit),
    listLinked: (query) => listLinked(db, query),
    listStale: (query) => listStale(db, query),
    listTroubled: (limit) => listTroubled(db, limit),
    listFailing: (query) => listFailing(db, query),
    listDamaged: () => listDamaged(engine),
    listUsedLogins: (limit) => listUsedLogins(db, limit),
    ...inspectRiver(engine, sealer),
  }
}

async function examine({ kind, db, keepsSession }: Engine): Promise<StoreCondition> {
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
    keepsSession: await keepsSession(),
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

async function listUse(db: Db, limit: number): Promise<readonly ProviderUse[]> {
  const rows = await db
    .selectFrom('logins')
    .select(['provider', ({ fn }) => fn.count('user_id').distinct().as('count')])
    .groupBy('provider')
    .execute()
  return Promise.all(
    rows.map(async ({ provider, count }) => ({
      provider,
      userCount: Number(count),
      emails: await listEmails(db, provider, limit),
      connectionCount: await countAt(db, provider),
      refreshedAt: await findNewestRefresh(db, provider),
    })),
  )
}

function listLinked(
  db: Db,
  { provider, limit }: { readonly provider: Provider; readonly limit: number },
): Promise<readonly LinkedConnection[]> {
  return db
    .selectFrom('connections')
    .select(['id', 'user_id as userId', 'login_id as loginId'])
    .where('provider', '=', provider)
    .where('status', '=', 'active')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

async function listEmails(db: Db, provider: Provider, limit: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select('users.email as email')
    .distinct()
    .where('logins.provider', '=', provider)
    .orderBy('users.email')
    .limit(limit)
    .execute()
  return rows.map(({ email }) => email)
}

async function countAt(db: Db, provider: Provider): Promise<number> {
  const row = await db
    .selectFrom('connections')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('provider', '=', provider)
    .where('status', '<>', 'deleting')
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

async function findNewestRefresh(db: Db, provider: Provider): Promise<number | null> {
  const row = await db
    .selectFrom('connections')
    .select('last_refreshed_at')
    .where('provider', '=', provider)
    .where('status', '<>', 'deleting')
    .where('last_refreshed_at', 'is not', null)
    .orderBy('last_refreshed_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.last_refreshed_at ?? null
}

async function listStale(
  db: Db,
  query: Parameters<StoreInspector['listStale']>[0],
): Promise<readonly StaleConnection[]> {
  const rows = await db
    .selectFrom('connections')
    .innerJoin('users', 'users.id', 'connections.user_id')
    .select([
      'connections.id as id',
      'users.email as email',
      'connections.institution_name as institutionName',
      'connections.last_refreshed_at as lastRefreshedAt',
    ])
    .where('connections.provider', '=', query.provider)
    .where('connections.status', '=', 'active')
    .where(isBefore('connections.last_refreshed_at', query.before))
    .orderBy('connections.last_refreshed_at')
    .orderBy('connections.id')
    .limit(query.limit)
    .execute()
  return rows.flatMap(({ lastRefreshedAt, ...row }) =>
    lastRefreshedAt === null ? [] : [{ ...row, lastRefreshedAt }],
  )
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
      'connections.login_id as loginId',
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

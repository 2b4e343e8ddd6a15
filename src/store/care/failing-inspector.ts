/** Active connections that cannot be read, and the logins in use, for the doctor. It changes nothing. */
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../engine/tables.ts'
import type { FailingConnection, StoreInspector, UsedLogin } from '../ports/inspector.ts'

export async function listFailing(
  db: Db,
  { also, limit }: Parameters<StoreInspector['listFailing']>[0],
): Promise<readonly FailingConnection[]> {
  const rows = await db
    .selectFrom('connections')
    .innerJoin('users', 'users.id', 'connections.user_id')
    .innerJoin('syncs', 'syncs.connection_id', 'connections.id')
    .leftJoin('sync_runs as last', (join) => join.on(sql<boolean>`last.id = ${lastFailed}`))
    .leftJoin('sync_runs as first', (join) => join.on(sql<boolean>`first.id = ${firstFailed}`))
    .select([
      'connections.id as id',
      'users.email as email',
      'connections.provider as provider',
      'connections.institution_name as institutionName',
      'connections.login_id as loginId',
      'syncs.failures as failures',
      'last.failure_code as code',
      'last.failure_message as message',
      'first.started_at as since',
    ])
    .where('connections.status', '=', 'active')
    .where(({ eb, or }) =>
      or([
        eb('syncs.failures', '>', 0),
        ...(also.length === 0 ? [] : [eb('connections.id', 'in', also)]),
      ]),
    )
    .orderBy('connections.created_at')
    .orderBy('connections.id')
    .limit(limit)
    .execute()
  return rows.map(({ failures, code, message, since, ...row }) => {
    const failure = code === null ? null : { code, message: message ?? '' }
    return { ...row, syncs: failures === 0 ? null : { failure, since } }
  })
}

/** One search of the index for each connection. */
const lastFailed: RawBuilder<unknown> = sql`(select run.id from sync_runs as run
  where run.connection_id = connections.id and run.state = 'failed'
  order by run.started_at desc, run.id desc limit 1)`

const firstFailed: RawBuilder<unknown> = sql`(select run.id from sync_runs as run
  where run.connection_id = connections.id and run.state = 'failed'
    and not exists (select 1 from sync_runs as later
      where later.connection_id = run.connection_id and later.state = 'succeeded'
        and later.started_at > run.started_at)
  order by run.started_at, run.id limit 1)`

export function listUsedLogins(db: Db, limit: number): Promise<readonly UsedLogin[]> {
  return db
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select(['logins.id as id', 'logins.provider as provider', 'users.email as email'])
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('connections')
          .select('connections.id')
          .whereRef('connections.login_id', '=', 'logins.id')
          .where('connections.status', '<>', 'deleting'),
      ),
    )
    .orderBy('logins.id')
    .limit(limit)
    .execute()
}

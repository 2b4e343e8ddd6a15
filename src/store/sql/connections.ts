/**
 * Connections: links to institutions. `deleting` is final: such a row is never shown to its user, never comes back to
 * life, and does not stand in the way of a new link to the same place. Every change of one grows the user's epoch (R10).
 */
import { sql } from 'kysely'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import type { ConnectionStore, NewConnection } from '../port.ts'
import type { Write } from './engine.ts'
import { type Db, isUnsetOrBefore, moment, momentOrNull } from './tables.ts'
import { bumpEpoch } from './users.ts'

const columns = [
  'id',
  'user_id as userId',
  'login_id as loginId',
  'provider',
  'upstream_id as upstreamId',
  'institution_id as institutionId',
  'institution_name as institutionName',
  'institution_logo as institutionLogo',
  'status',
  'last_refreshed_at as lastRefreshedAt',
  'created_at as createdAt',
] as const

/** The connection repository over `db`. */
export function makeConnectionStore({ db, write }: { db: Db; write: Write }): ConnectionStore {
  const select = () => db.selectFrom('connections').select(columns)
  return {
    list: (userId) =>
      select()
        .where('user_id', '=', userId)
        .where('status', '<>', 'deleting')
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    async get(userId, id) {
      const row = await select()
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('status', '<>', 'deleting')
        .executeTakeFirst()
      return row ?? null
    },
    async find(id) {
      return (await select().where('id', '=', id).executeTakeFirst()) ?? null
    },
    listByLogin: (loginId) =>
      select()
        .where('login_id', '=', loginId)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    listDeleting({ after, limit }) {
      const waiting = select()
        // The words of the partial index, not a parameter: both engines must recognise them.
        .where(sql<boolean>`status = 'deleting'`)
        .orderBy('id')
        .limit(limit)
      return (after === null ? waiting : waiting.where('id', '>', after)).execute()
    },
    save: (connection) =>
      write(async (tx, touched) => {
        const row = await upsert(tx, connection)
        await bumpEpoch(tx, row.userId)
        touched(row.userId)
        return row
      }),
    ...makeChanges(write),
  }
}

/** The changes of one row that is there already. Each does nothing when there is nothing to change. */
function makeChanges(
  write: Write,
): Pick<ConnectionStore, 'repoint' | 'setStatus' | 'setRefreshed' | 'delete'> {
  return {
    repoint: (id, upstreamId) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('connections')
          .set({ upstream_id: upstreamId })
          .where('id', '=', id)
          .where('upstream_id', '<>', upstreamId)
          .where('status', '<>', 'deleting')
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row === undefined) return
        await bumpEpoch(tx, row.userId)
        touched(row.userId)
      }),
    setStatus: (id, status) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('connections')
          .set({ status })
          .where('id', '=', id)
          .where('status', '<>', status)
          .where('status', '<>', 'deleting')
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row === undefined) return
        await bumpEpoch(tx, row.userId)
        touched(row.userId)
      }),
    setRefreshed: (id, at) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('connections')
          .set({ last_refreshed_at: moment(at) })
          .where('id', '=', id)
          .where(isUnsetOrBefore('last_refreshed_at', at))
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row !== undefined) touched(row.userId)
      }),
    delete: (id) =>
      write(async (tx, touched) => {
        const row = await tx
          .deleteFrom('connections')
          .where('id', '=', id)
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row === undefined) return
        await bumpEpoch(tx, row.userId)
        touched(row.userId)
      }),
  }
}

/** One statement: two links of the same place at the same time make one connection. */
function upsert(tx: Db, connection: NewConnection) {
  return tx
    .insertInto('connections')
    .values({
      id: newId<ConnectionId>(),
      user_id: connection.userId,
      login_id: connection.loginId,
      provider: connection.provider,
      upstream_id: connection.upstreamId,
      institution_id: connection.institutionId,
      institution_name: connection.institutionName,
      institution_logo: connection.institutionLogo,
      status: connection.status,
      last_refreshed_at: momentOrNull(connection.lastRefreshedAt),
      created_at: moment(connection.createdAt),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'provider', 'upstream_id'])
        // The words of the partial index, not a parameter: PostgreSQL must recognise them.
        .where(sql<boolean>`status <> 'deleting'`)
        .doUpdateSet((set) => ({
          login_id: set.ref('excluded.login_id'),
          institution_id: set.ref('excluded.institution_id'),
          institution_name: set.ref('excluded.institution_name'),
          institution_logo: set.ref('excluded.institution_logo'),
          status: set.ref('excluded.status'),
          // Only ever forward in time, and an unknown time changes nothing.
          last_refreshed_at: sql<Date | null>`case
            when connections.last_refreshed_at is null
              or excluded.last_refreshed_at > connections.last_refreshed_at
            then excluded.last_refreshed_at
            else connections.last_refreshed_at
          end`,
        })),
    )
    .returning(columns)
    .executeTakeFirstOrThrow()
}

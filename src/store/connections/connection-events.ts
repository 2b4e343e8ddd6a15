/**
 * Events about connections, from the transaction of the change to that of their acceptance (reading R41).
 * Those of one user wait in the order of the changes, as every change locks the user's row first.
 */
import { sql } from 'kysely'
import type { ConnectionEventType } from '#contract/events.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import { type ConnectionId, newTimedId, type UserId, type WaitingEventId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { hasChanged } from '../engine/rows.ts'
import { type Db, isNot, moment, momentOrNull } from '../engine/tables.ts'
import { lockUser } from '../people/users.ts'
import type { ConnectionEventStore, ExpiringRow, WaitingEvent } from '../ports/connection-events.ts'
import { whereExpiring } from './consent-expiry.ts'

/** The events of users whose connections changed, and of consents that end soon. */
export function makeConnectionEventStore({
  engine,
  write,
}: RepositoryOptions): ConnectionEventStore {
  const { db } = engine
  return {
    async listWaiting(limit, without = []) {
      const all = db.selectFrom('connection_events').select(columns)
      const rows = await (without.length === 0 ? all : all.where('user_id', 'not in', without))
        .orderBy('user_id')
        .orderBy('position')
        .limit(limit)
        .execute()
      return rows.map(toWaiting)
    },
    take: (userId, ids) =>
      write(async (tx) => {
        const state = await lockUser(engine, tx, userId)
        const rows = await tx
          .deleteFrom('connection_events')
          .where('user_id', '=', userId)
          .where('id', 'in', ids)
          .returning('id')
          .execute()
        return new Set(state === 'living' ? rows.map(({ id }) => id) : [])
      }),
    listExpiring: (page) => selectExpiring(db, page),
    announceExpiry: (id, end) =>
      write(async (tx, _touched, woke) => {
        const isAdded = await announce(engine, tx, id, end)
        if (isAdded) woke('connection-event')
        return isAdded
      }),
  }
}

const columns = [
  'id',
  'user_id as userId',
  'type',
  'connection_id as connectionId',
  'provider',
  'institution_id as institutionId',
  'institution_name as institutionName',
  'institution_logo as institutionLogo',
  'status',
  'last_refreshed_at as lastRefreshedAt',
  'linked_at as linkedAt',
  'expires_at as expiresAt',
  'created_at as createdAt',
] as const

type Waiting = Omit<WaitingEvent, 'connection'> &
  Omit<WaitingEvent['connection'], 'id' | 'createdAt'> & {
    readonly connectionId: ConnectionId
    readonly linkedAt: number
  }

function toWaiting({
  connectionId,
  linkedAt,
  provider,
  institutionId,
  institutionName,
  institutionLogo,
  status,
  lastRefreshedAt,
  ...event
}: Waiting): WaitingEvent {
  const { id, userId, type, expiresAt, createdAt } = event
  const institution = { institutionId, institutionName, institutionLogo }
  const times = { lastRefreshedAt, createdAt: linkedAt }
  const connection = { id: connectionId, provider, ...institution, status, ...times }
  return { id, userId, type, connection, expiresAt, createdAt }
}

/** A change of a connection that an endpoint may have named. */
export interface ConnectionNews {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly type: ConnectionEventType
  readonly at: number
  /** Absent: as it is stored. */
  readonly status?: ConnectionStatus
  readonly expiresAt?: number
}

/**
 * Stores the event of a change, in the transaction of the change, whose caller has locked the user's row.
 * False, with nothing stored: no endpoint of the user names it, and nobody fetches their events.
 */
export async function addConnectionEvent(tx: Db, news: ConnectionNews): Promise<boolean> {
  const { id, userId, type, at, status, expiresAt = null } = news
  if (!(await isNamed(tx, userId, type))) return false
  const row = await tx
    .selectFrom('connections')
    .select(['provider', 'institution_id', 'institution_name', 'institution_logo', 'status'])
    .select(['last_refreshed_at', 'created_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const shown = status ?? row.status
  if (shown === 'deleting') throw new Error('an event shows a connection that is being deleted')
  const { last } = await tx
    .selectFrom('connection_events')
    .select(({ fn }) => fn.max('position').as('last'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  await tx
    .insertInto('connection_events')
    .values({
      id: newTimedId<WaitingEventId>(),
      user_id: userId,
      position: Number(last ?? 0) + 1,
      type,
      connection_id: id,
      provider: row.provider,
      institution_id: row.institution_id,
      institution_name: row.institution_name,
      institution_logo: row.institution_logo,
      status: shown,
      last_refreshed_at: momentOrNull(row.last_refreshed_at),
      linked_at: moment(row.created_at),
      expires_at: momentOrNull(expiresAt),
      created_at: moment(at),
    })
    .execute()
  return true
}

/** Disabled endpoints count: what they miss can be replayed. */
async function isNamed(tx: Db, userId: UserId, type: ConnectionEventType): Promise<boolean> {
  const rows = await tx
    .selectFrom('webhook_endpoints')
    .select('events')
    .where('user_id', '=', userId)
    .execute()
  if (rows.some(({ events }) => events.split(',').includes(type))) return true
  // A consumer names the types that it wants when it asks (reading R42).
  const consumer = tx.selectFrom('event_consumers').select('id').where('user_id', '=', userId)
  return (await consumer.limit(1).executeTakeFirst()) !== undefined
}

const expiring: ConnectionEventType = 'connection.expiring'

function selectExpiring(
  db: Db,
  { before, after, limit }: Parameters<ConnectionEventStore['listExpiring']>[0],
): Promise<ExpiringRow[]> {
  return db
    .selectFrom('connections')
    .select([
      'id',
      sql<number>`consent_expires_at`.as('consentExpiresAt'),
      'told_expires_at as toldExpiresAt',
      'told_days as toldDays',
    ])
    .where(whereExpiring({ before, after }))
    .where('status', '=', 'active')
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(
          selectFrom('webhook_endpoints')
            .select('webhook_endpoints.id')
            .whereRef('webhook_endpoints.user_id', '=', 'connections.user_id')
            .where('webhook_endpoints.events', 'like', `%${expiring}%`),
        ),
        // As `isNamed`.
        exists(
          selectFrom('event_consumers')
            .select('event_consumers.id')
            .whereRef('event_consumers.user_id', '=', 'connections.user_id'),
        ),
      ]),
    )
    .orderBy('consent_expires_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

async function announce(
  engine: Engine,
  tx: Db,
  ...[id, { expiresAt, days, at }]: Parameters<ConnectionEventStore['announceExpiry']>
): Promise<boolean> {
  const owner = await tx
    .selectFrom('connections')
    .select('user_id as userId')
    .where('id', '=', id)
    .executeTakeFirst()
  if (owner === undefined || (await lockUser(engine, tx, owner.userId)) !== 'living') return false
  const { userId } = owner
  if (!(await isNamed(tx, userId, expiring))) return false
  const isNews = await hasChanged(
    tx
      .updateTable('connections')
      .set({ told_expires_at: moment(expiresAt), told_days: days })
      .where('id', '=', id)
      .where('status', '=', 'active')
      .where(sql<boolean>`consent_expires_at = ${moment(expiresAt)}`)
      .where((row) => row.or([isNot('told_expires_at', expiresAt), row('told_days', '>', days)])),
  )
  return isNews && addConnectionEvent(tx, { id, userId, type: expiring, at, expiresAt })
}

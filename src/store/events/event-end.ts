/**
 * The end of accepted events: they are marked first, so that they are not sent any more; then the key is
 * destroyed, then the payload with the answers to it, and later the receipt. The next call completes what an
 * earlier one left incomplete.
 */
import { sql } from 'kysely'
import type { EventId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { countChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment } from '../engine/tables.ts'
import type { EventStore } from '../ports/events.ts'
import { isUnread } from './consumers.ts'
import { destroyKeys, sweepOrphans } from './event-keys.ts'

type Ends = Pick<EventStore, 'shred' | 'sweepKeys' | 'sweepReceipts' | 'deleteOf' | 'readBacklog'>

/** Bounds the list of ids in one statement. */
const mostAtOnce = 500

export function makeEventEnds({ engine, write }: RepositoryOptions): Ends {
  const { db } = engine
  return {
    async shred({ acceptedBefore, unreadBefore, now, limit }) {
      const bounds = { acceptedBefore, unreadBefore, limit: Math.min(limit, mostAtOnce) }
      const ids = await write((tx) => decide(engine, tx, bounds))
      if (ids.length === 0) return 0
      await destroyKeys(engine, ids)
      await write((tx) => destroyPayloads(tx, ids, now))
      return ids.length
    },
    sweepKeys: (bounds) => sweepOrphans({ engine, write }, bounds),
    async sweepReceipts({ before, limit }) {
      const old = db
        .selectFrom('events')
        .select('id')
        .where('shredded_at', 'is not', null)
        .where(isBefore('created_at', before))
        .limit(limit)
      return countChanged(db.deleteFrom('events').where('id', 'in', old))
    },
    deleteOf(userId, limit) {
      const some = db.selectFrom('events').select('id').where('user_id', '=', userId).limit(limit)
      return countChanged(db.deleteFrom('events').where('id', 'in', some))
    },
    async readBacklog() {
      const row = await db
        .selectFrom('events')
        .select(({ fn }) => [
          fn.countAll().as('events'),
          fn.sum(fn('length', ['payload'])).as('bytes'),
        ])
        .where('shredded_at', 'is', null)
        .executeTakeFirstOrThrow()
      return { events: Number(row.events), bytes: Number(row.bytes ?? 0) }
    },
  }
}

const hasPending = sql<boolean>`exists (
  select 1 from deliveries where deliveries.event_id = events.id and deliveries.status = 'pending'
)`

/**
 * Marks events to be shredded. A replay locks the event's row: either the second statement sees its delivery,
 * or the replay sees the mark. Events that an earlier call marked and did not complete are included.
 */
async function decide(
  { kind }: Engine,
  tx: Db,
  { acceptedBefore, unreadBefore, limit }: Bounds,
): Promise<readonly EventId[]> {
  const ended = tx
    .selectFrom('events')
    .select('id')
    .where('shredded_at', 'is', null)
    .where(isBefore('created_at', acceptedBefore))
    .where(sql<boolean>`not ${hasPending}`)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
  const query =
    unreadBefore === undefined
      ? ended
      : ended.where(sql<boolean>`(${isBefore('created_at', unreadBefore)} or not ${isUnread})`)
  const rows = await (kind === 'postgres' ? query.forUpdate().skipLocked() : query).execute()
  if (rows.length === 0) return []
  const marked = await tx
    .updateTable('events')
    .set({ shredding: true })
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .where(sql<boolean>`not ${hasPending}`)
    .returning('id')
    .execute()
  return marked.map(({ id }) => id)
}

interface Bounds {
  readonly acceptedBefore: number
  readonly unreadBefore: number | undefined
  readonly limit: number
}

async function destroyPayloads(tx: Db, ids: readonly EventId[], now: number): Promise<void> {
  await tx
    .updateTable('attempts')
    .set({ response: null })
    .where('delivery_id', 'in', (query) =>
      query.selectFrom('deliveries').select('id').where('event_id', 'in', ids),
    )
    .where('response', 'is not', null)
    .execute()
  await tx
    .updateTable('events')
    .set({ payload: null, shredded_at: moment(now) })
    .where('id', 'in', ids)
    .where('shredded_at', 'is', null)
    .execute()
}

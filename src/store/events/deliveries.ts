/** Lists of deliveries with their attempts, and the backlog. Leases: `claims.ts`; replays: `replay.ts`. */
import { sql } from 'kysely'
import type { EventType } from '#contract/events.ts'
import type { DeliveryId, EndpointId, EventId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine, Write } from '../engine/engine.ts'
import { type Db, isDue, moment } from '../engine/tables.ts'
import type { AttemptRow, DeliveryRow, DeliveryStatus, DeliveryStore } from '../ports/deliveries.ts'
import type { Sealer } from '../seal.ts'
import { healths, makeClaims } from './claims.ts'
import { deleteEnded } from './ended.ts'
import { isBeyondMissed, isPending } from './endpoint-rows.ts'
import { readKeys } from './event-keys.ts'
import { type EventKey, openResponse } from './event-seal.ts'
import { deliveryStatusOf, missLeft } from './missed.ts'
import type { OpenedEndpoints } from './opened-endpoints.ts'
import { makeReplays } from './replay.ts'
import { shortenDeliveryWaits } from './set-back.ts'

interface Parts {
  readonly engine: Engine
  readonly write: Write
  readonly sealer: Sealer
  readonly opened: OpenedEndpoints
}

/** The largest that the column holds. */
const maxPosition = 2 ** 31 - 1

const columns = [
  'id',
  'event_id as eventId',
  'endpoint_id as endpointId',
  'user_id as userId',
  'position',
  'status',
  sql<EventType>`(select type from events where events.id = deliveries.event_id)`.as('type'),
  'is_replay as isReplay',
  'is_test as isTest',
  'created_at as createdAt',
  'due_at as dueAt',
  sql<number | null>`(
    select missed_to from webhook_endpoints where webhook_endpoints.id = deliveries.endpoint_id
  )`.as('missedTo'),
] as const

export function makeDeliveryStore(parts: Parts): DeliveryStore {
  const { db } = parts.engine
  return {
    ...makeClaims(parts),
    ...makeReplays(parts),
    async list(endpointId, { after, limit, states, since }) {
      let page = db
        .selectFrom('deliveries')
        .select(columns)
        .where('endpoint_id', '=', endpointId)
        .orderBy('position', 'desc')
        .limit(limit)
      if (after !== null) page = page.where('position', '<', Math.min(after, maxPosition))
      if (states !== undefined || since !== undefined) page = page.where(isRecent(endpointId))
      if (since !== undefined) page = page.where(sql<boolean>`created_at >= ${moment(since)}`)
      if (states !== undefined) page = page.where(isOfStates(states, endpointId))
      return withAttempts(parts, await page.execute())
    },
    async find(id) {
      const rows = await db.selectFrom('deliveries').select(columns).where('id', '=', id).execute()
      return (await withAttempts(parts, rows))[0] ?? null
    },
    async count(userId, { since, limit }) {
      const newest = sql`select created_at from deliveries
        where deliveries.endpoint_id = webhook_endpoints.id order by position desc limit ${limit}`
      const rows = await db
        .selectFrom('webhook_endpoints')
        .select([
          'id',
          sql<string | number>`(
            select count(*) from (${newest}) as newest where created_at >= ${moment(since)}
          )`.as('count'),
        ])
        .where('user_id', '=', userId)
        .execute()
      return new Map(rows.map(({ id, count }) => [id, Number(count)]))
    },
    async listAttempts(endpointId, { since, limit }) {
      const newest = db
        .selectFrom('deliveries')
        .select('id')
        .where('endpoint_id', '=', endpointId)
        .orderBy('position', 'desc')
      const older = await newest.limit(1).offset(limit).executeTakeFirst()
      const rows = await db
        .selectFrom(newest.limit(limit).as('newest'))
        .innerJoin('attempts', 'attempts.delivery_id', 'newest.id')
        .select(['attempts.at', 'attempts.failure', 'attempts.duration_ms as durationMs'])
        .where(sql<boolean>`attempts.at >= ${moment(since)}`)
        .execute()
      const attempts = rows.map(({ failure, ...row }) => ({ ...row, isFailed: failure !== null }))
      return { attempts, isCut: older !== undefined }
    },
    shortenWaits: (limits) => shortenDeliveryWaits(parts, limits),
    missLeft: ({ limit }) => parts.write((tx) => missLeft(parts.engine, tx, limit)),
    deleteEnded: (endpointId, keep) => deleteEnded(db, endpointId, keep),
    async readBacklog(now) {
      const counted = await db
        .selectFrom('deliveries')
        .select(({ fn }) => fn.countAll().as('count'))
        .where(isPending)
        .executeTakeFirstOrThrow()
      const due: (number | null)[] = []
      for (const health of ['healthy', 'unhealthy'] as const)
        for (const served of [false, true]) due.push(await oldestDue(db, { health, served }, now))
      const times = due.filter((time) => time !== null)
      return {
        pending: Number(counted.count),
        oldestDueAt: times.length === 0 ? null : Math.min(...times),
      }
    },
  }
}

/** Deliveries that a search for a state looks at. */
const searched = 5000

const isRecent = (id: EndpointId) =>
  sql<boolean>`position > (select last_position from webhook_endpoints where id = ${id}) - ${searched}`

/** A delivery that is missed may still be pending in its row (`missed.ts`). */
function isOfStates(states: readonly DeliveryStatus[], id: EndpointId) {
  const others = states.filter((state) => state !== 'pending' && state !== 'missed')
  const isOther = sql<boolean>`status in (${sql.join(others.length === 0 ? ['none'] : others)})`
  const isMissed = sql<boolean>`(status = 'missed' or (status = 'pending' and not ${isBeyondMissed(id)}))`
  const isWaiting = sql<boolean>`(status = 'pending' and ${isBeyondMissed(id)})`
  return sql<boolean>`(${isOther}${states.includes('missed') ? sql` or ${isMissed}` : sql``}${states.includes('pending') ? sql` or ${isWaiting}` : sql``})`
}

interface Found extends Omit<DeliveryRow, 'attempts'> {
  readonly missedTo: number | null
}

async function withAttempts(
  { engine, sealer }: Pick<Parts, 'engine' | 'sealer'>,
  deliveries: readonly Found[],
): Promise<readonly DeliveryRow[]> {
  const ids = deliveries.map(({ id }) => id)
  const rows = await inBatches(ids, (batch) => listAttempts(engine.db, batch))
  const answered = new Set(rows.flatMap(({ id, response }) => (response === null ? [] : [id])))
  const events: readonly EventId[] = [
    ...new Set(deliveries.filter(({ id }) => answered.has(id)).map(({ eventId }) => eventId)),
  ]
  const keys = await readKeys({ engine, sealer }, events)
  const byDelivery = Map.groupBy(rows, ({ id }) => id)
  return deliveries.map(({ missedTo, ...delivery }) => ({
    ...delivery,
    status: deliveryStatusOf(delivery, missedTo),
    dueAt: deliveryStatusOf(delivery, missedTo) === 'pending' ? delivery.dueAt : null,
    attempts: (byDelivery.get(delivery.id) ?? []).map((row) =>
      toAttempt(row, keys.get(delivery.eventId)),
    ),
  }))
}

function listAttempts(db: Db, ids: readonly DeliveryId[]) {
  return db
    .selectFrom('attempts')
    .select([
      'delivery_id as id',
      'number',
      'at',
      'status',
      'failure',
      'duration_ms as durationMs',
      'response',
    ])
    .where('delivery_id', 'in', ids)
    .orderBy('delivery_id')
    .orderBy('number')
    .execute()
}

type AttemptFound = Awaited<ReturnType<typeof listAttempts>>[number]

function toAttempt({ id, number, response, ...row }: AttemptFound, key?: EventKey): AttemptRow {
  const isLost = response === null || key === undefined
  return {
    ...row,
    response: isLost ? null : openResponse(key, { deliveryId: id, number }, response),
  }
}

/**
 * Looks at endpoints without a lease: the due time of a leased one is the end of its lease, which is in the
 * future.
 */
async function oldestDue(
  db: Db,
  { health, served }: { readonly health: keyof typeof healths; readonly served: boolean },
  now: number,
): Promise<number | null> {
  const row = await db
    .selectFrom('webhook_endpoints')
    .select('next_due_at as dueAt')
    .where(healths[health])
    .where('served_at', served ? 'is not' : 'is', null)
    .where(isDue('next_due_at', now))
    .orderBy('next_due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.dueAt ?? null
}

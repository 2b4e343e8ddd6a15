/**
 * Sends accepted events again, each in a lane of its own. A replay locks the endpoint's row, then the events'
 * rows: an event that is being shredded is either seen as shredded, or kept by its new pending delivery. An
 * event has few replays at an endpoint, because its deliveries are shredded and deleted together with it.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DeliveryId, EndpointId, EventId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { type Db, isBefore, moment } from '../engine/tables.ts'
import type { DeliveryStore } from '../ports/deliveries.ts'
import {
  type HeldEndpoint,
  holdEndpoints,
  isBeyondMissed,
  isFirst,
  toEvents,
} from './endpoint-rows.ts'
import { insertDeliveries } from './lanes.ts'
import { deliveryStatusOf } from './missed.ts'

/** Replays of one event at one endpoint, each with attempts of its own. */
const mostKept = 3
/** Events of one statement, which on SQLite blocks the process. */
const eventsAtOnce = 100

export function makeReplays({
  engine,
  write,
}: RepositoryOptions): Pick<DeliveryStore, 'replay' | 'replayRange'> {
  return {
    replay: (id, at) =>
      write(async (tx, _touched, woke) => {
        const former = await tx
          .selectFrom('deliveries')
          .select(['event_id as eventId', 'endpoint_id as endpointId', 'is_test as isTest'])
          .where('id', '=', id)
          .executeTakeFirst()
        if (former === undefined) return null
        const endpoint = await hold(engine, tx, former.endpointId)
        const [event] = await holdEvents(engine, tx).where('id', '=', former.eventId).execute()
        if (endpoint === undefined || event === undefined || event.shredding) return null
        const [made] = await sendAgain(engine, tx, endpoint, {
          events: [{ eventId: event.id, isTest: former.isTest }],
          at: at,
        })
        woke('delivery')
        return made ?? null
      }),
    replayRange: (endpointId, range) =>
      write(async (tx, _touched, woke) => {
        const endpoint = await hold(engine, tx, endpointId)
        const nothing = { replayed: 0, shredded: 0, isTooMany: false }
        if (endpoint === undefined) return nothing
        const events = await listTaken(engine, tx, endpoint, range)
        const shredded = events.filter((event) => event.shredding).length
        if (shredded > 0 || events.length === 0) return { ...nothing, shredded }
        const pending = await countPendingReplays(tx, endpointId, range.limit)
        if (pending + events.length > range.limit) return { ...nothing, isTooMany: true }
        const again = events.map(({ id }) => ({ eventId: id, isTest: false }))
        await sendAgain(engine, tx, endpoint, { events: again, at: range.at })
        woke('delivery')
        return { ...nothing, replayed: again.length }
      }),
  }
}

/** Counts no further than to `limit`. */
async function countPendingReplays(tx: Db, id: EndpointId, limit: number): Promise<number> {
  const rows = await tx
    .selectFrom('deliveries')
    .select('id')
    .where('endpoint_id', '=', id)
    .where(isFirst)
    .where(isBeyondMissed(id))
    .where('is_replay', '=', true)
    .limit(limit)
    .execute()
  return rows.length
}

function hold(engine: Engine, tx: Db, id: HeldEndpoint['id']) {
  return holdEndpoints(engine, tx).where('id', '=', id).executeTakeFirst()
}

/** Locked until the transaction ends. */
function holdEvents({ kind }: Engine, tx: Db) {
  const query = tx.selectFrom('events').select(['id', 'shredding'])
  return kind === 'postgres' ? query.forShare() : query
}

/** Every event of a connection that the endpoint takes, in the order in which they were accepted. */
function listTaken(
  engine: Engine,
  tx: Db,
  endpoint: HeldEndpoint,
  { from, to, limit }: Parameters<DeliveryStore['replayRange']>[1],
) {
  const { userId, skipEmpty, pending } = endpoint
  const query = holdEvents(engine, tx)
    .where('user_id', '=', userId)
    .where(isFrom('created_at', from))
    .where(isBefore('created_at', to))
    .where('connection_id', 'is not', null)
    .where('type', 'in', toEvents(endpoint.events))
    .where(({ eb, or }) => or([eb('has_pending', 'is', null), eb('has_pending', '=', pending)]))
    .orderBy('created_at')
    .orderBy('chunk')
    .orderBy('id')
    .limit(limit + 1)
  return (skipEmpty ? query.where('is_empty', '=', false) : query).execute()
}

function isFrom(column: string, ms: number): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(column)} >= ${moment(ms)})`
}

interface Again {
  readonly events: readonly { readonly eventId: EventId; readonly isTest: boolean }[]
  readonly at: number
}

/**
 * Deletes the oldest replays of each event that have ended, so that `mostKept` are left with the new one.
 * Adds none to an event of which so many are pending. Returns the pending replays, the newest of each event
 * first.
 */
async function sendAgain(
  engine: Engine,
  tx: Db,
  endpoint: HeldEndpoint,
  { events, at }: Again,
): Promise<readonly DeliveryId[]> {
  const ids = events.map(({ eventId }) => eventId)
  const former = await inBatches(ids, (some) => listReplays(tx, endpoint.id, some), eventsAtOnce)
  const isPending = (row: Replay) => deliveryStatusOf(row, endpoint.missedTo) === 'pending'
  const pending = Map.groupBy(former.filter(isPending), ({ eventId }) => eventId)
  const ended = Map.groupBy(
    former.filter((row) => !isPending(row)),
    ({ eventId }) => eventId,
  )
  const countPending = (id: EventId) => pending.get(id)?.length ?? 0
  const surplus = [...ended].flatMap(([id, rows]) =>
    rows.slice(Math.max(0, mostKept - 1 - countPending(id))),
  )
  await inBatches(surplus, (some) => deleteReplays(tx, some), eventsAtOnce)
  const made = await insertDeliveries(
    engine,
    tx,
    endpoint,
    events
      .filter(({ eventId }) => countPending(eventId) < mostKept)
      .map((event) => ({ ...event, lane: null, isReplay: true, at })),
  )
  return [...made, ...former.filter(isPending).map(({ id }) => id)]
}

type Replay = Awaited<ReturnType<typeof listReplays>>[number]

/**
 * The newest first. SQLite would search an index by endpoint, which has far more rows, if the condition were
 * a comparison of the column.
 */
function listReplays(tx: Db, id: EndpointId, events: readonly EventId[]) {
  return tx
    .selectFrom('deliveries')
    .select(['id', 'event_id as eventId', 'status', 'position'])
    .where('event_id', 'in', events)
    .where(sql<boolean>`coalesce(endpoint_id, endpoint_id) = ${id}`)
    .where('is_replay', '=', true)
    .orderBy('position', 'desc')
    .execute()
}

async function deleteReplays(tx: Db, rows: readonly Replay[]): Promise<readonly never[]> {
  const ids = rows.map(({ id }) => id)
  await tx.deleteFrom('deliveries').where('id', 'in', ids).execute()
  return []
}

/**
 * Creates deliveries in lanes: those of one connection at one endpoint run one after another; a test event
 * and each replay have a lane of their own. Only the first pending delivery of a lane has a due time.
 */
import { type Compilable, type RawBuilder, sql } from 'kysely'
import { type DeliveryId, type EndpointId, type EventId, newTimedId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine } from '../engine/engine.ts'
import { type Db, moment } from '../engine/tables.ts'
import { type HeldEndpoint, isPending, updateDue } from './endpoint-rows.ts'

/** Rows of one statement, which on SQLite blocks the process. A replay may have thousands. */
const rowsAtOnce = 100

export interface NewDelivery {
  readonly eventId: EventId
  /** Null: a lane of its own. */
  readonly lane: string | null
  readonly isReplay: boolean
  readonly isTest: boolean
  readonly at: number
}

/**
 * In order, after the endpoint's existing ones; `missed` where it is disabled. Then the endpoint is due,
 * unless it is leased: the release computes that. The caller has locked its row.
 */
export async function insertDeliveries(
  engine: Engine,
  tx: Db,
  endpoint: HeldEndpoint,
  deliveries: readonly NewDelivery[],
): Promise<readonly DeliveryId[]> {
  if (deliveries.length === 0) return []
  const isDisabled = endpoint.health === 'disabled'
  const busy = new Set<string>()
  const rows = deliveries.map(({ eventId, lane, isReplay, isTest, at }, index) => {
    const id = newTimedId<DeliveryId>()
    const isFirst = lane === null || !busy.has(lane)
    if (lane !== null) busy.add(lane)
    return {
      id,
      event_id: eventId,
      endpoint_id: endpoint.id,
      user_id: endpoint.userId,
      lane: lane ?? id,
      position: endpoint.lastPosition + 1 + index,
      status: isDisabled ? ('missed' as const) : ('pending' as const),
      due_at: isFirst && !isDisabled ? dueAt(endpoint, { lane, at }) : null,
      attempts: 0,
      is_replay: isReplay,
      is_test: isTest,
      created_at: moment(at),
    }
  })
  await inBatches(
    rows,
    async (batch) => {
      await engine.later(tx, tx.insertInto('deliveries').values(batch).compile())
      return []
    },
    rowsAtOnce,
  )
  const place = { id: endpoint.id, last_position: endpoint.lastPosition + rows.length }
  const refresh = endpoint.lease === null ? moveOnAndRefresh : moveOn
  await engine.later(tx, engine.queries.compile(refresh, tx, place))
  return rows.map(({ id }) => id)
}

type Position = { readonly id: EndpointId; readonly last_position: number }

const moveOnAndRefresh = (tx: Db, { id, last_position }: Position): Compilable =>
  updateDue(tx, id, { last_position })

const moveOn = (tx: Db, { id, last_position }: Position): Compilable =>
  tx.updateTable('webhook_endpoints').set({ last_position }).where('id', '=', id)

/**
 * The due time of the first new delivery of a lane; null where the lane has pending ones. Of an expression
 * PostgreSQL knows the type only if one branch is a column.
 */
function dueAt(
  { id, missedTo }: HeldEndpoint,
  { lane, at }: Pick<NewDelivery, 'lane' | 'at'>,
): Date | RawBuilder<Date | null> {
  if (lane === null) return moment(at)
  return sql<Date | null>`case when exists (
      select 1 from deliveries
      where endpoint_id = ${id} and lane = ${lane} and ${isPending} and position > ${missedTo ?? 0}
    ) then (select next_due_at from webhook_endpoints where id = ${id} and 1 = 0) else ${moment(at)} end`
}

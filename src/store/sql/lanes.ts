/**
 * Creates deliveries in lanes: those of one connection at one endpoint run one after another; a test event and each replay
 * have a lane of their own. Only the first pending delivery of a lane has a due time.
 */
import { type DeliveryId, type EventId, newId } from '#kernel/ids.ts'
import { inBatches } from './batches.ts'
import { type HeldEndpoint, isPending, refreshDue } from './endpoint-rows.ts'
import { type Db, moment } from './tables.ts'

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
 * In order, after the endpoint's existing ones; `missed` where it is disabled. Then the endpoint is due, unless it is leased:
 * the release computes that. The caller has locked its row.
 */
export async function insertDeliveries(
  tx: Db,
  endpoint: HeldEndpoint,
  deliveries: readonly NewDelivery[],
): Promise<readonly DeliveryId[]> {
  if (deliveries.length === 0) return []
  const isDisabled = endpoint.health === 'disabled'
  const lanes = new Set(deliveries.flatMap(({ lane }) => (lane === null ? [] : [lane])))
  const busy = isDisabled ? new Set<string>() : await findBusy(tx, endpoint, [...lanes])
  const rows = deliveries.map(({ eventId, lane, isReplay, isTest, at }, index) => {
    const id = newId<DeliveryId>()
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
      due_at: isFirst && !isDisabled ? moment(at) : null,
      attempts: 0,
      is_replay: isReplay,
      is_test: isTest,
      created_at: moment(at),
    }
  })
  await inBatches(
    rows,
    async (batch) => {
      await tx.insertInto('deliveries').values(batch).execute()
      return []
    },
    rowsAtOnce,
  )
  const last_position = endpoint.lastPosition + rows.length
  if (endpoint.lease === null) await refreshDue(tx, endpoint.id, { last_position })
  else {
    await tx
      .updateTable('webhook_endpoints')
      .set({ last_position })
      .where('id', '=', endpoint.id)
      .execute()
  }
  return rows.map(({ id }) => id)
}

/** Which of the lanes have a pending delivery. */
async function findBusy(
  tx: Db,
  { id, missedTo }: HeldEndpoint,
  lanes: readonly string[],
): Promise<Set<string>> {
  const rows = await inBatches(lanes, (batch) =>
    tx
      .selectFrom('deliveries')
      .select('lane')
      .distinct()
      .where('endpoint_id', '=', id)
      .where('lane', 'in', batch)
      .where(isPending)
      .where('position', '>', missedTo ?? 0)
      .execute(),
  )
  return new Set(rows.map(({ lane }) => lane))
}

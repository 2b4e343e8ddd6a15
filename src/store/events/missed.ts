/**
 * Deliveries that their endpoint misses because it was disabled. All of them are missed at once
 * (`missed_to`), and their rows follow in batches: an update of all could take longer than a statement may.
 * The caller has locked the endpoint's row.
 */
import { sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import type { DeliveryStatus } from '../ports/deliveries.ts'
import { holdEndpoints, isBeyondMissed, isPending } from './endpoint-rows.ts'

/** Deliveries of one transaction; more are rare. */
const missedAtOnce = 500

/** Pending deliveries of a disabled endpoint are not sent, also when it is enabled again. */
export async function missPending(tx: Db, id: EndpointId): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ missed_to: sql<number>`last_position` })
    .where('id', '=', id)
    .execute()
  await missSome(tx, id, missedAtOnce)
}

/** Completes what `missPending` left, of one endpoint. Returns the rows it changed, at least 1 if any. */
export async function missLeft(engine: Engine, tx: Db, limit: number): Promise<number> {
  const query = tx.selectFrom('webhook_endpoints').select('id').where('missed_to', 'is not', null)
  const left = await query.orderBy('id').limit(1).executeTakeFirst()
  if (left === undefined) return 0
  const held = await holdEndpoints(engine, tx).where('id', '=', left.id).executeTakeFirst()
  return held === undefined ? 1 : Math.max(1, await missSome(tx, left.id, limit))
}

async function missSome(tx: Db, id: EndpointId, limit: number): Promise<number> {
  const some = tx
    .selectFrom('deliveries')
    .select('id')
    .where('endpoint_id', '=', id)
    .where(isPending)
    .where(sql<boolean>`not ${isBeyondMissed(id)}`)
    .limit(limit)
  const { numUpdatedRows } = await tx
    .updateTable('deliveries')
    .set({ status: 'missed', due_at: null })
    .where('id', 'in', some)
    .executeTakeFirstOrThrow()
  const count = Number(numUpdatedRows)
  if (count < limit)
    await tx
      .updateTable('webhook_endpoints')
      .set({ missed_to: null })
      .where('id', '=', id)
      .execute()
  return count
}

/** The status of a delivery, whatever its row says. */
export function deliveryStatusOf(
  { status, position }: { readonly status: DeliveryStatus; readonly position: number },
  missedTo: number | null,
): DeliveryStatus {
  return status === 'pending' && position <= (missedTo ?? 0) ? 'missed' : status
}

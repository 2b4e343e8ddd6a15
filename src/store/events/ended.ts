/**
 * Deletes old deliveries of an endpoint that is about to be deleted. The cascade of a delete takes all rows
 * in one statement, which with half a million deliveries exceeds the time limit of PostgreSQL statements and
 * blocks a process on SQLite.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { DeliveryId, EndpointId } from '#kernel/ids.ts'
import type { Db } from '../engine/tables.ts'

const batchRows = 1000
/** This many of an endpoint's deliveries are deleted in one statement. A user may have 20 endpoints. */
const deletedWithIt = 5000
/** Ten million deliveries; what is left is deleted with the endpoint. */
const maxBatches = 10_000

/** See `DeliveryStore.deleteEnded`. */
export async function deleteEnded(db: Db, id: EndpointId, keep = deletedWithIt): Promise<void> {
  const newest = await db
    .selectFrom('deliveries')
    .select('position')
    .where('endpoint_id', '=', id)
    .orderBy('position', 'desc')
    .offset(keep)
    .limit(1)
    .executeTakeFirst()
  if (newest === undefined) return
  let after = -1
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const rows = await db
      .selectFrom('deliveries')
      .select(['id', 'position'])
      .where('endpoint_id', '=', id)
      .where('position', '>', after)
      .where('position', '<=', newest.position)
      .where(sql<boolean>`status <> 'pending'`)
      .orderBy('position')
      .limit(batchRows)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.position
    await deleteAll(
      db,
      rows.map((row) => row.id),
    )
    await nextTurn()
  }
}

async function deleteAll(db: Db, ids: readonly DeliveryId[]): Promise<void> {
  await db.deleteFrom('deliveries').where('id', 'in', ids).execute()
}

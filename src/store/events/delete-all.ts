/**
 * Empties an endpoint that is about to be deleted. The cascade of a delete takes all rows in one statement,
 * which with half a million deliveries exceeds the time limit of PostgreSQL statements and blocks a process
 * on SQLite.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import { healthColumns } from './endpoint-rows.ts'

const batchRows = 500
/** Ten million deliveries; what is left is deleted with the endpoint. */
const maxBatches = 20_000

/** See `DeliveryStore.deleteAll`. */
export async function deleteAll(
  { engine: { db }, write }: RepositoryOptions,
  id: EndpointId,
): Promise<void> {
  const to = await write((tx) => disable(tx, id))
  let after = -1
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const rows = await db
      .selectFrom('deliveries')
      .select(['id', 'position'])
      .where('endpoint_id', '=', id)
      .where('position', '>', after)
      .where('position', '<=', to)
      .orderBy('position')
      .limit(batchRows)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.position
    const ids = rows.map((row) => row.id)
    await db.deleteFrom('deliveries').where('id', 'in', ids).execute()
    await nextTurn()
  }
}

/** What is pending is missed: no delivery waits for one that is deleted. Returns the last position. */
async function disable(tx: Db, id: EndpointId): Promise<number> {
  const change = { health: 'disabled', disabledReason: 'owner' } as const
  const row = await tx
    .updateTable('webhook_endpoints')
    .set({
      ...healthColumns({ ...change, failures: 0, failingSince: null, warnedDays: 0 }),
      served_at: null,
      missed_to: sql<number>`last_position`,
    })
    .where('id', '=', id)
    .returning('last_position as lastPosition')
    .executeTakeFirst()
  return row?.lastPosition ?? 0
}

/**
 * Creates the missing sync rows: of connections from older versions, and of those that a process of an older
 * version created during an upgrade. Their due times are spread, so that an upgrade does not read every
 * connection at once.
 */
import { hourMs } from '#kernel/time.ts'
import { inBatches } from '../engine/batches.ts'
import { type Db, moment } from '../engine/tables.ts'

const spreadMs = hourMs

/** Runs in the transaction that sets up the schema. */
export async function spreadSyncs(tx: Db, now: number): Promise<void> {
  const without = await tx
    .selectFrom('connections')
    .select(['id', 'user_id', 'provider'])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('syncs')
            .select('syncs.connection_id')
            .whereRef('syncs.connection_id', '=', 'connections.id'),
        ),
      ),
    )
    .execute()
  await inBatches(without, async (batch) => {
    await tx
      .insertInto('syncs')
      .values(
        batch.map(({ id, user_id, provider }) => ({
          connection_id: id,
          user_id,
          provider,
          due_at: moment(now + Math.floor(Math.random() * spreadMs)),
          reason: 'schedule' as const,
          failures: 0,
        })),
      )
      .onConflict((conflict) => conflict.column('connection_id').doNothing())
      .execute()
    return []
  })
}

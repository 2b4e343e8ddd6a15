/**
 * Repairs after the clock was set back: due times and ends of leases that were written before lie further
 * ahead than any sync waits, and nothing would become due until the clock is there again.
 */

import type { Write } from '../engine/engine.ts'
import { isAfter, moment } from '../engine/tables.ts'
import type { WaitLimits } from '../ports/waits.ts'

/** See `SyncStore.shortenWaits`. */
export function shortenSyncWaits(write: Write, limits: WaitLimits): Promise<number> {
  const { now, leaseMs, longestMs } = limits
  return write(async (tx, _touched, woke) => {
    const waiting = await tx
      .updateTable('syncs')
      .set({ due_at: moment(now) })
      .where('run_id', 'is', null)
      .where(isAfter('due_at', now + longestMs))
      .executeTakeFirstOrThrow()
    const leased = await tx
      .updateTable('syncs')
      .set({ due_at: moment(now + leaseMs) })
      .where('run_id', 'is not', null)
      .where(isAfter('due_at', now + 2 * leaseMs))
      .executeTakeFirstOrThrow()
    if (waiting.numUpdatedRows > 0n) woke('sync')
    return Number(waiting.numUpdatedRows + leased.numUpdatedRows)
  })
}

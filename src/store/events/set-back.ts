/**
 * Repairs after the clock was set back: due times and ends of leases that were written before lie further
 * ahead than anything waits, and nothing would become due until the clock is there again.
 */

import { type RawBuilder, sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { type Db, isAfter, moment } from '../engine/tables.ts'
import type { WaitLimits } from '../ports/waits.ts'
import { healths } from './claims.ts'
import { holdEndpoints, isFirst, refreshDue } from './endpoint-rows.ts'

/** Endpoints in one call; the next call repairs the others. */
const maxEndpoints = 500

/** See `DeliveryStore.shortenWaits`. */
export async function shortenDeliveryWaits(
  options: RepositoryOptions,
  limits: WaitLimits,
): Promise<number> {
  const { db } = options.engine
  const { now, leaseMs } = limits
  const leased = await db
    .updateTable('webhook_endpoints')
    .set({ next_due_at: moment(now + leaseMs) })
    .where('lease', 'is not', null)
    .where(isAfter('next_due_at', now + 2 * leaseMs))
    .executeTakeFirstOrThrow()
  const ids = await findWaiting(db, limits)
  for (const id of ids) await shortenOne(options, id, limits)
  return Number(leased.numUpdatedRows) + ids.length
}

/** A first attempt is due when its delivery is created, or when the one before it in its lane ended. */
function isTooLong({ now, leaseMs, longestMs }: WaitLimits): RawBuilder<boolean> {
  const first = sql`attempts = 0 and ${isAfter('due_at', now + 2 * leaseMs)}`
  return sql<boolean>`(${isAfter('due_at', now + longestMs)} or (${first}))`
}

/** Endpoints with such a delivery, or with such a wait of their own. */
async function findWaiting(db: Db, limits: WaitLimits): Promise<readonly EndpointId[]> {
  const deliveries = await db
    .selectFrom('deliveries')
    .select('endpoint_id as id')
    .distinct()
    .where(isFirst)
    .where(isTooLong(limits))
    .limit(maxEndpoints)
    .execute()
  const found = [...deliveries]
  for (const health of ['healthy', 'unhealthy'] as const)
    for (const served of [false, true])
      found.push(...(await findAhead(db, limits, { health, served })))
  return [...new Set(found.map(({ id }) => id))]
}

interface Kind {
  readonly health: keyof typeof healths
  /** It belongs to those that take turns, see `takeDue` in `claims.ts`. */
  readonly served: boolean
}

function findAhead(db: Db, { now, longestMs }: WaitLimits, { health, served }: Kind) {
  return db
    .selectFrom('webhook_endpoints')
    .select('id')
    .where(healths[health])
    .where('served_at', served ? 'is not' : 'is', null)
    .where(isAfter('next_due_at', now + longestMs))
    .where('lease', 'is', null)
    .limit(maxEndpoints)
    .execute()
}

function shortenOne(
  { engine, write }: RepositoryOptions,
  id: EndpointId,
  limits: WaitLimits,
): Promise<void> {
  const { now, longestMs } = limits
  return write(async (tx, _touched, woke) => {
    const row = await holdEndpoints(engine, tx).where('id', '=', id).executeTakeFirst()
    if (row === undefined) return
    const isTooLate = (row.notBefore ?? now) > now + longestMs
    await tx
      .updateTable('webhook_endpoints')
      .set({ served_at: null, ...(isTooLate ? { not_before: null } : {}) })
      .where('id', '=', id)
      .execute()
    await tx
      .updateTable('deliveries')
      .set({ due_at: moment(now) })
      .where('endpoint_id', '=', id)
      .where(isFirst)
      .where(isTooLong(limits))
      .execute()
    // While it is leased the due column belongs to the holder, and the release recomputes it.
    if (row.lease === null && (await refreshDue(tx, id)) !== null) woke('delivery')
  })
}

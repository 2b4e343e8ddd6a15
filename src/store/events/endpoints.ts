/** Webhook endpoints: owner, secrets and health. Their leases are in `claims.ts`. */

import { type EndpointId, newId } from '#kernel/ids.ts'
import type { SealingOptions } from '../engine/engine.ts'
import { type Db, moment } from '../engine/tables.ts'
import { demandUser } from '../people/users.ts'
import type { EndpointHealth, EndpointStore, NewEndpoint } from '../ports/endpoints.ts'
import { openOrNull, type Sealer } from '../seal.ts'
import {
  endpointColumns,
  fromEvents,
  healthColumns,
  holdEndpoints,
  openSecrets,
  refreshDue,
  sealSecrets,
  sealUrl,
  secretColumns,
  toEndpointRow,
} from './endpoint-rows.ts'
import { missPending } from './missed.ts'

export function makeEndpointStore({ engine, write, sealer }: SealingOptions): EndpointStore {
  const { db } = engine
  const select = () => db.selectFrom('webhook_endpoints').select(endpointColumns)
  return {
    create: (endpoint, limit) =>
      write(async (tx) => {
        // The lock on the user's row serialises concurrent calls, so the count stays correct.
        await demandUser(engine, tx, endpoint.userId)
        const counted = await tx
          .selectFrom('webhook_endpoints')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('user_id', '=', endpoint.userId)
          .executeTakeFirstOrThrow()
        if (Number(counted.count) >= limit) return 'too_many'
        return toEndpointRow(sealer, await insert(tx, sealer, endpoint))
      }),
    async list(userId) {
      const rows = await select()
        .where('user_id', '=', userId)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map((row) => toEndpointRow(sealer, row))
    },
    async find(id) {
      const row = await select().where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : toEndpointRow(sealer, row)
    },
    async readSecrets(id) {
      const row = await db
        .selectFrom('webhook_endpoints')
        .select([...secretColumns, 'secret_key as secretKey'])
        .where('id', '=', id)
        .executeTakeFirst()
      return row === undefined ? null : openSecrets(sealer, id, row)
    },
    delete: (id) =>
      write(async (tx, touched) => {
        const row = await tx
          .deleteFrom('webhook_endpoints')
          .where('id', '=', id)
          .returning('user_id as userId')
          .executeTakeFirst()
        // Whoever sends to it at this moment stops.
        if (row !== undefined) touched(row.userId)
      }),
    async countByHealth() {
      const rows = await db
        .selectFrom('webhook_endpoints')
        .select(['health', ({ fn }) => fn.countAll().as('count')])
        .groupBy('health')
        .execute()
      const counts: Record<EndpointHealth, number> = {
        healthy: 0,
        degraded: 0,
        paused: 0,
        disabled: 0,
      }
      for (const { health, count } of rows) counts[health] = Number(count)
      return counts
    },
    ...makeChanges({ engine, write, sealer }),
  }
}

function makeChanges({
  engine,
  write,
  sealer,
}: SealingOptions): Pick<EndpointStore, 'rotate' | 'setHealth'> {
  return {
    rotate: (id, secret, previousUntil) =>
      write(async (tx, touched, woke) => {
        const row = await holdEndpoints(engine, tx)
          .select(secretColumns)
          .where('id', '=', id)
          .executeTakeFirst()
        if (row === undefined) return null
        // The row names one key for all that is sealed in it.
        const { url } = toEndpointRow(sealer, row)
        const previous =
          previousUntil === null ? null : keepCurrent(sealer, id, { row, until: previousUntil })
        await tx
          .updateTable('webhook_endpoints')
          .set({
            ...sealSecrets(sealer, id, { current: secret, previous }),
            ...(url === '' ? {} : sealUrl(sealer, id, url)),
          })
          .where('id', '=', id)
          .execute()
        // Otherwise the holder of the lease would continue to sign with the previous secret.
        if (previous === null && row.lease !== null) {
          // It stops what it is sending, so that no later event of a connection overtakes it.
          touched(row.userId)
          await tx
            .updateTable('webhook_endpoints')
            .set({ lease: null })
            .where('id', '=', id)
            .execute()
          if ((await refreshDue(tx, id)) !== null) woke('delivery')
        }
        return previous?.until ?? null
      }),
    setHealth: (id, change) =>
      write(async (tx, _touched, woke) => {
        const row = await holdEndpoints(engine, tx).where('id', '=', id).executeTakeFirst()
        if (row === undefined) return
        await tx
          .updateTable('webhook_endpoints')
          .set({
            ...healthColumns(change),
            ...(change.health === 'healthy' ? { not_before: null } : {}),
            ...(change.health === 'disabled' ? { served_at: null } : {}),
          })
          .where('id', '=', id)
          .execute()
        if (change.health === 'disabled') await missPending(tx, id)
        // While it is leased the due column belongs to the holder.
        if (row.lease === null && (await refreshDue(tx, id)) !== null) woke('delivery')
      }),
  }
}

function insert(tx: Db, sealer: Sealer, endpoint: NewEndpoint) {
  const id = newId<EndpointId>()
  return tx
    .insertInto('webhook_endpoints')
    .values({
      id,
      user_id: endpoint.userId,
      events: fromEvents(endpoint.events),
      skip_empty: endpoint.skipEmpty,
      pending: endpoint.pending ?? false,
      health: 'healthy',
      failures: 0,
      warned_days: 0,
      created_at: moment(endpoint.createdAt),
      last_position: 0,
      ...sealUrl(sealer, id, endpoint.url),
      ...sealSecrets(sealer, id, { current: endpoint.secret, previous: null }),
    })
    .returning(endpointColumns)
    .executeTakeFirstOrThrow()
}

/** Null when the current secret cannot be decrypted; a rotation replaces it. */
function keepCurrent(
  sealer: Sealer,
  id: EndpointId,
  { row, until }: { readonly row: Parameters<typeof openSecrets>[2]; readonly until: number },
): { readonly secret: string; readonly until: number } | null {
  const current = { ...row, previousSecret: null }
  return openOrNull(() => ({ secret: openSecrets(sealer, id, current).current, until }))
}

/**
 * Leases of endpoints, and what is due there. `next_due_at` is when the endpoint is due or, while it is
 * leased, when the lease ends (docs/decisions/0015-claims-by-lease.md). Every step locks the endpoint's row
 * before its deliveries.
 */
import { sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type { Engine, Write } from '../engine/engine.ts'
import { hasChanged } from '../engine/rows.ts'
import { type Db, isAfter, isDue, moment } from '../engine/tables.ts'
import type { ClaimedEndpoint, DeliveryStore, DueDelivery } from '../ports/deliveries.ts'
import type { Sealer } from '../seal.ts'
import { recordAttempts } from './attempts.ts'
import {
  endpointColumns,
  holdEndpoints,
  isBeyondMissed,
  isFirst,
  laterOf,
  refreshDue,
  secretColumns,
} from './endpoint-rows.ts'
import type { OpenedEndpoints } from './opened-endpoints.ts'

interface Parts {
  readonly engine: Engine
  readonly write: Write
  readonly sealer: Sealer
  readonly opened: OpenedEndpoints
}

type Claims = Pick<
  DeliveryStore,
  'claimEndpoints' | 'renew' | 'listDue' | 'findOldest' | 'record' | 'release'
>

export function makeClaims(parts: Parts): Claims {
  const { engine, write, opened } = parts
  const { db } = engine
  return {
    claimEndpoints: async (options) =>
      (await write((tx) => takeDue(engine, tx, options))).map((row) => toClaimed(opened, row)),
    async renew(lease, leaseUntil) {
      return hasChanged(
        db
          .updateTable('webhook_endpoints')
          .set({ next_due_at: moment(leaseUntil) })
          .where('lease', '=', lease),
      )
    },
    async listDue(id, { now, limit, tests = false }) {
      const due = selectFirst(db, id)
        .where(isDue('due_at', now))
        .where(sql<boolean>`(is_test or not ${isWaiting(id, now)})`)
        .limit(limit)
      return (await (tests ? due.where('is_test', '=', true) : due).execute()).map(toDue)
    },
    async findOldest(id) {
      const row = await selectFirst(db, id).where('is_test', '=', false).limit(1).executeTakeFirst()
      return row === undefined ? null : toDue(row)
    },
    record: (results) => write((tx) => recordAttempts(parts, tx, results)),
    release: (lease, { now, notBefore, ofUnhealthy = false }) =>
      write(async (tx, _touched, woke) => {
        opened.forget(lease)
        const row = await holdEndpoints(engine, tx).where('lease', '=', lease).executeTakeFirst()
        if (row === undefined) return
        const isOver = ofUnhealthy && row.health === 'healthy'
        const wait = laterOf(row.notBefore, isOver ? 0 : notBefore)
        const dueAt = await refreshDue(tx, row.id, { lease: null, not_before: wait })
        if (dueAt === null || dueAt > now) return
        await tx
          .updateTable('webhook_endpoints')
          .set({ served_at: moment(now) })
          .where('id', '=', row.id)
          .execute()
        // Deliveries that were created during the lease may be due now, and nobody could claim them then.
        woke('delivery')
      }),
  }
}

/** The conditions of the partial indexes, in their words: both engines must recognise them. */
export const healths = {
  healthy: sql<boolean>`health = 'healthy'`,
  unhealthy: sql<boolean>`health in ('degraded', 'paused')`,
}

type ClaimOptions = Parameters<DeliveryStore['claimEndpoints']>[0]

/** One statement; see `takeDue` in `syncs.ts`. Whoever has waited longest for a place is first. */
function takeDue(engine: Engine, tx: Db, options: ClaimOptions) {
  const { now, leaseMs, limit } = options
  return tx
    .with('waiting', () => selectDue(engine, tx, options, 'next_due_at'))
    .with('served', () => selectDue(engine, tx, options, 'served_at'))
    .with('due', (query) =>
      query
        .selectFrom('waiting')
        .select(['id', 'since'])
        .unionAll(query.selectFrom('served').select(['id', 'since']))
        .orderBy('since')
        .orderBy('id')
        .limit(limit),
    )
    .updateTable('webhook_endpoints')
    .set({
      lease: sql<string>`gen_random_uuid()`,
      next_due_at: moment(now + leaseMs),
      served_at: null,
    })
    .where('id', 'in', (query) => query.selectFrom('due').select('due.id'))
    .returning([...endpointColumns, ...secretColumns, 'lease', 'next_due_at as leaseUntil'])
    .execute()
}

/** A range of one index; on PostgreSQL what another process is taking is left out. */
function selectDue(
  { kind }: Engine,
  tx: Db,
  { now, limit, unhealthy }: ClaimOptions,
  since: 'next_due_at' | 'served_at',
) {
  const due = tx
    .selectFrom('webhook_endpoints')
    .select(['id', `${since} as since`])
    .where(unhealthy ? healths.unhealthy : healths.healthy)
    .where('served_at', since === 'served_at' ? 'is not' : 'is', null)
    .where(isDue('next_due_at', now))
    .orderBy(since)
    .orderBy('id')
    .limit(limit)
  return kind === 'postgres' ? due.forNoKeyUpdate().skipLocked() : due
}

type Taken = Awaited<ReturnType<typeof takeDue>>[number]

function toClaimed(opened: OpenedEndpoints, row: Taken): ClaimedEndpoint {
  const { lease, leaseUntil, ...endpoint } = row
  if (lease === null || leaseUntil === null)
    throw new Error('an endpoint was taken without a lease')
  return { lease, leaseUntil, ...opened.open(lease, endpoint) }
}

/** True while the endpoint waits, and tests alone are sent. */
function isWaiting(id: EndpointId, now: number) {
  return sql<boolean>`exists (
    select 1 from webhook_endpoints where id = ${id} and ${isAfter('not_before', now)}
  )`
}

/** The first pending delivery of each lane, in the order of creation; the oldest pending one is first. */
function selectFirst(db: Db, id: EndpointId) {
  return db
    .selectFrom('deliveries')
    .select([
      'id',
      'event_id as eventId',
      'attempts',
      'created_at as createdAt',
      'is_replay as isReplay',
      'is_test as isTest',
      'due_at as dueAt',
    ])
    .where('endpoint_id', '=', id)
    .where(isFirst)
    .where(isBeyondMissed(id))
    .orderBy('position')
}

type First = NonNullable<Awaited<ReturnType<ReturnType<typeof selectFirst>['executeTakeFirst']>>>

function toDue({ dueAt, ...row }: First): DueDelivery {
  if (dueAt === null) throw new Error('the first delivery of a lane has no due time')
  return { ...row, dueAt }
}

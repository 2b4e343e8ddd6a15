/**
 * Leases of endpoints, and the results of attempts. `next_due_at` is when the endpoint is due or, while it is leased, when
 * the lease ends (docs/decisions/0015-claims-by-lease.md). Every step locks the endpoint's row before its deliveries.
 */
import { sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type {
  ClaimedEndpoint,
  DeliveryStatus,
  DeliveryStore,
  DeliveryVerdict,
  DueDelivery,
} from '../ports/deliveries.ts'
import type { EndpointRow, EndpointSecrets, HealthChange } from '../ports/endpoints.ts'
import { SealError, type Sealer } from '../seal.ts'
import {
  endpointColumns,
  healthColumns,
  holdEndpoints,
  isFirst,
  missPending,
  openSecrets,
  refreshDue,
  secretColumns,
  toEndpoint,
} from './endpoint-rows.ts'
import type { Engine, Write } from './engine.ts'
import { readKeys } from './event-keys.ts'
import { sealResponse } from './event-seal.ts'
import { advanceLane } from './lanes.ts'
import { type Db, isAfter, isDue, moment } from './tables.ts'

interface Parts {
  readonly engine: Engine
  readonly write: Write
  readonly sealer: Sealer
}

type Claims = Pick<
  DeliveryStore,
  'claimEndpoints' | 'renew' | 'listDue' | 'findOldest' | 'record' | 'release'
>

export function makeClaims(parts: Parts): Claims {
  const { engine, write, sealer } = parts
  const { db } = engine
  return {
    claimEndpoints: async (options) =>
      (await write((tx) => takeDue(engine, tx, options))).map((row) => toClaimed(sealer, row)),
    async renew(lease, leaseUntil) {
      const { numUpdatedRows } = await db
        .updateTable('webhook_endpoints')
        .set({ next_due_at: moment(leaseUntil) })
        .where('lease', '=', lease)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
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
    async record(lease, result) {
      const answer = await sealAnswer(parts, result)
      return write((tx) => record(engine, tx, { lease, result, answer }))
    },
    release: (lease, { notBefore }) =>
      write(async (tx, _touched, woke) => {
        const row = await holdEndpoints(engine, tx).where('lease', '=', lease).executeTakeFirst()
        if (row === undefined) return
        await tx
          .updateTable('webhook_endpoints')
          .set({ lease: null, not_before: laterOf(row.notBefore, notBefore) })
          .where('id', '=', row.id)
          .execute()
        const dueAt = await refreshDue(tx, row.id)
        // Deliveries that were created during the lease may be due now; nobody could claim the endpoint when they were
        // announced. The end of the lease stands for the present, which the store does not know.
        if (dueAt !== null && dueAt <= (row.nextDueAt ?? dueAt)) woke('delivery')
      }),
  }
}

/** The conditions of the partial indexes, in their words: both engines must recognise them. */
export const healths = {
  healthy: sql<boolean>`health = 'healthy'`,
  ailing: sql<boolean>`health in ('degraded', 'paused')`,
}

/** One statement; see `takeDue` in `syncs.ts`. */
function takeDue(
  { kind }: Engine,
  tx: Db,
  { now, leaseMs, limit, ailing }: Parameters<DeliveryStore['claimEndpoints']>[0],
) {
  return tx
    .with('due', (query) => {
      const due = query
        .selectFrom('webhook_endpoints')
        .select('id')
        .where(ailing ? healths.ailing : healths.healthy)
        .where(isDue('next_due_at', now))
        .orderBy('next_due_at')
        .orderBy('id')
        .limit(limit)
      return kind === 'postgres' ? due.forNoKeyUpdate().skipLocked() : due
    })
    .updateTable('webhook_endpoints')
    .set({ lease: sql<string>`gen_random_uuid()`, next_due_at: moment(now + leaseMs) })
    .where('id', 'in', (query) => query.selectFrom('due').select('due.id'))
    .returning([...endpointColumns, ...secretColumns, 'lease', 'next_due_at as leaseUntil'])
    .execute()
}

type Taken = Awaited<ReturnType<typeof takeDue>>[number]

function toClaimed(sealer: Sealer, row: Taken): ClaimedEndpoint {
  const { lease, leaseUntil, secret, previousSecret, previousUntil, ...endpoint } = row
  if (lease === null || leaseUntil === null)
    throw new Error('an endpoint was taken without a lease')
  return {
    lease,
    leaseUntil,
    endpoint: toEndpoint(endpoint),
    secrets: openOrNull(sealer, endpoint.id, { secret, previousSecret, previousUntil }),
  }
}

/** The claim of the other endpoints is committed, so that one damaged secret does not stop their deliveries. */
function openOrNull(...given: Parameters<typeof openSecrets>): EndpointSecrets | null {
  try {
    return openSecrets(...given)
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

/** True while the endpoint waits, and tests alone are sent. */
function isWaiting(id: EndpointId, now: number) {
  return sql<boolean>`exists (
    select 1 from webhook_endpoints where id = ${id} and ${isAfter('not_before', now)}
  )`
}

/** A wait stays until it is over or the endpoint becomes healthy, although tests were sent meanwhile. */
function laterOf(before: number | null, now: number): Date {
  return moment(Math.max(before ?? now, now))
}

/** The first pending delivery of each lane, in the order of creation; this includes the oldest pending delivery. */
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
    .orderBy('position')
}

type First = NonNullable<Awaited<ReturnType<ReturnType<typeof selectFirst>['executeTakeFirst']>>>

function toDue({ dueAt, ...row }: First): DueDelivery {
  if (dueAt === null) throw new Error('the first delivery of a lane has no due time')
  return { ...row, dueAt }
}

type Result = Parameters<DeliveryStore['record']>[1]

/** A sealed answer; it can be decrypted only as the answer of the attempt with this number. */
interface Answer {
  readonly number: number
  readonly sealed: Uint8Array
}

/** Null: there is no answer, or the event's key is missing (a restored backup), so that it could never be decrypted. */
async function sealAnswer(
  { engine, sealer }: Parts,
  { deliveryId, attempt }: Result,
): Promise<Answer | null> {
  if (attempt.response === null) return null
  const delivery = await findDelivery(engine.db, deliveryId)
  if (delivery === undefined) return null
  const key = (await readKeys({ engine, sealer }, [delivery.eventId])).get(delivery.eventId)
  if (key === undefined) return null
  const number = delivery.attempts + 1
  return { number, sealed: sealResponse(key, { deliveryId, number }, attempt.response) }
}

function findDelivery(db: Db, id: Result['deliveryId']) {
  return db
    .selectFrom('deliveries')
    .select(['event_id as eventId', 'endpoint_id as endpointId', 'lane', 'attempts', 'status'])
    .where('id', '=', id)
    .executeTakeFirst()
}

async function record(
  engine: Engine,
  tx: Db,
  {
    lease,
    result,
    answer,
  }: { readonly lease: string; readonly result: Result; readonly answer: Answer | null },
): Promise<EndpointRow | null> {
  const row = await holdEndpoints(engine, tx).where('lease', '=', lease).executeTakeFirst()
  if (row === undefined) return null
  const {
    lease: _lease,
    nextDueAt: _dueAt,
    notBefore: _notBefore,
    lastPosition: _last,
    ...before
  } = row
  const endpoint = toEndpoint(before)
  const delivery = await findDelivery(tx, result.deliveryId)
  if (delivery?.endpointId !== endpoint.id || !isOpen(delivery.status))
    throw new Error('an attempt was recorded of a delivery that this lease does not cover')
  await insertAttempt(tx, result, { number: delivery.attempts + 1, answer })
  await conclude(tx, endpoint, delivery, result)
  const health = result.health(endpoint)
  // Mostly a success of a healthy endpoint: nothing changes.
  if (!isSameHealth(endpoint, health))
    await tx
      .updateTable('webhook_endpoints')
      .set({ ...healthColumns(health), ...pauseAfter(endpoint, health) })
      .where('id', '=', endpoint.id)
      .execute()
  if (health.health === 'disabled') await missPending(tx, endpoint.id)
  return { ...endpoint, ...health }
}

/** An endpoint that becomes healthy does not wait any longer. */
function pauseAfter(before: HealthChange, after: HealthChange) {
  return before.health !== 'healthy' && after.health === 'healthy' ? { not_before: null } : {}
}

function isSameHealth(one: HealthChange, other: HealthChange): boolean {
  return (
    one.health === other.health &&
    one.failures === other.failures &&
    one.failingSince === other.failingSince &&
    one.warnedDays === other.warnedDays &&
    one.disabledReason === other.disabledReason
  )
}

/** A delivery becomes `missed` when its endpoint is disabled during the attempt. */
const isOpen = (status: DeliveryStatus): boolean => status === 'pending' || status === 'missed'

async function insertAttempt(
  tx: Db,
  { deliveryId, attempt }: Result,
  { number, answer }: { readonly number: number; readonly answer: Answer | null },
): Promise<void> {
  await tx
    .insertInto('attempts')
    .values({
      delivery_id: deliveryId,
      number,
      at: moment(attempt.at),
      status: attempt.status,
      failure: attempt.failure,
      duration_ms: attempt.durationMs,
      response: answer?.number === number ? answer.sealed : null,
    })
    .execute()
}

async function conclude(
  tx: Db,
  endpoint: EndpointRow,
  { attempts, status, lane }: NonNullable<Awaited<ReturnType<typeof findDelivery>>>,
  { deliveryId, attempt, verdict }: Result,
): Promise<void> {
  const outcome = toOutcome(verdict, status)
  await tx
    .updateTable('deliveries')
    .set({ attempts: attempts + 1, ...outcome })
    .where('id', '=', deliveryId)
    .execute()
  if (status === 'pending' && outcome.status !== 'pending')
    await advanceLane(tx, endpoint, lane, attempt.at)
}

/** A delivery that became `missed` during the attempt is not attempted again, but a successful attempt delivered it. */
function toOutcome(verdict: DeliveryVerdict, before: DeliveryStatus) {
  if (verdict.kind === 'succeeded') return { status: verdict.kind, due_at: null }
  if (before === 'missed') return { status: before, due_at: null }
  if (verdict.kind === 'exhausted') return { status: verdict.kind, due_at: null }
  return { status: before, due_at: moment(verdict.dueAt) }
}

/**
 * The results of attempts, many of one transaction in a fixed number of statements: the endpoints' rows are locked, the
 * deliveries read, and what follows is computed as if one result were stored after another.
 */
import { sql } from 'kysely'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type {
  AttemptResult,
  DeliveryStatus,
  DeliveryVerdict,
  EndpointState,
} from '../ports/deliveries.ts'
import type { HealthChange } from '../ports/endpoints.ts'
import type { Sealer } from '../seal.ts'
import {
  healthColumns,
  holdEndpoints,
  isPending,
  laterOf,
  secretColumns,
  toEndpointState,
} from './endpoint-rows.ts'
import type { Engine } from './engine.ts'
import { readKeys } from './event-keys.ts'
import { type EventKey, sealResponse } from './event-seal.ts'
import { missPending, statusOf } from './missed.ts'
import { type Db, moment, momentOrNull } from './tables.ts'

interface Parts {
  readonly engine: Engine
  readonly sealer: Sealer
}

/** As `DeliveryStore.record`, within the transaction `tx`. */
export async function recordAttempts(
  { engine, sealer }: Parts,
  tx: Db,
  results: readonly AttemptResult[],
): Promise<readonly (EndpointState | null)[]> {
  const held = await holdByLease(engine, tx, [...new Set(results.map(({ lease }) => lease))])
  const mine = results.filter(({ lease }) => held.has(lease))
  if (mine.length === 0) return results.map(() => null)
  const deliveries = await readDeliveries(tx, mine)
  const answered = mine.filter(({ attempt }) => attempt.response !== null)
  const events = answered.flatMap(({ deliveryId }) => deliveries.get(deliveryId)?.eventId ?? [])
  const keys = await readKeys({ engine: { ...engine, db: tx }, sealer }, [...new Set(events)])
  const states = new Map([...held].map(([lease, row]) => [lease, toEndpointState(sealer, row)]))
  const before = new Map([...states].map(([lease, { endpoint }]) => [lease, endpoint]))
  const steps: Step[] = []
  const after = results.map((result): EndpointState | null => {
    const state = states.get(result.lease)
    if (state === undefined) return null
    const { endpoint } = state
    const delivery = deliveries.get(result.deliveryId)
    if (delivery?.endpointId !== endpoint.id || !isOpen(delivery.status))
      throw new Error('an attempt was recorded of a delivery that this lease does not cover')
    const missedTo = held.get(result.lease)?.missedTo ?? null
    const status = endpoint.health === 'disabled' ? 'missed' : statusOf(delivery, missedTo)
    const step = toStep(result, { ...delivery, status }, keys.get(delivery.eventId))
    steps.push(step)
    deliveries.set(delivery.id, { ...delivery, ...step.outcome, attempts: step.number })
    const next = { ...state, endpoint: { ...endpoint, ...result.health(endpoint) } }
    states.set(result.lease, next)
    return next
  })
  await insertAttempts(tx, steps)
  await conclude(tx, steps)
  await advance(tx, steps)
  for (const [lease, { endpoint }] of states) {
    const former = before.get(lease)
    const wait = longestWait(mine.filter((result) => result.lease === lease))
    const notBefore = wait === null ? null : laterOf(held.get(lease)?.notBefore ?? null, wait)
    if (former !== undefined) await saveHealth(tx, former, endpoint, notBefore)
  }
  return after
}

/** Locked in the order of their ids, as everywhere: two transactions do not deadlock. */
async function holdByLease(engine: Engine, tx: Db, leases: readonly string[]) {
  const rows = await holdEndpoints(engine, tx)
    .select(secretColumns)
    .where('lease', 'in', leases)
    .orderBy('id')
    .execute()
  return new Map(rows.flatMap((row) => (row.lease === null ? [] : [[row.lease, row]])))
}

interface Delivery {
  readonly id: DeliveryId
  readonly eventId: EventId
  readonly endpointId: string
  readonly attempts: number
  readonly status: DeliveryStatus
  readonly position: number
  /** The delivery that becomes due when this one has ended. */
  readonly nextId: DeliveryId | null
}

async function readDeliveries(
  tx: Db,
  results: readonly AttemptResult[],
): Promise<Map<DeliveryId, Delivery>> {
  const rows = await tx
    .selectFrom('deliveries')
    .select([
      'id',
      'event_id as eventId',
      'endpoint_id as endpointId',
      'attempts',
      'status',
      'position',
      sql<DeliveryId | null>`(
        select next.id from deliveries as next
        where next.endpoint_id = deliveries.endpoint_id and next.lane = deliveries.lane
          and next.status = 'pending' and next.position > deliveries.position
        order by next.position limit 1
      )`.as('nextId'),
    ])
    .where(
      'id',
      'in',
      results.map(({ deliveryId }) => deliveryId),
    )
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** What one result changes. */
interface Step {
  readonly result: AttemptResult
  readonly number: number
  readonly outcome: { readonly status: DeliveryStatus; readonly dueAt: number | null }
  /** Null: there is none, or the event's key is missing (a restored backup), so that it could never be decrypted. */
  readonly answer: Uint8Array | null
  /** Becomes due now; null: none does. */
  readonly nextId: DeliveryId | null
}

function toStep(result: AttemptResult, delivery: Delivery, key: EventKey | undefined): Step {
  const { deliveryId, attempt, verdict } = result
  const number = delivery.attempts + 1
  const outcome = toOutcome(verdict, delivery.status)
  const { response } = attempt
  const isOver = delivery.status === 'pending' && outcome.status !== 'pending'
  return {
    result,
    number,
    outcome,
    answer:
      response === null || key === undefined
        ? null
        : sealResponse(key, { deliveryId, number }, response),
    nextId: isOver ? delivery.nextId : null,
  }
}

/** A delivery becomes `missed` when its endpoint is disabled during the attempt. */
const isOpen = (status: DeliveryStatus): boolean => status === 'pending' || status === 'missed'

/** A delivery that became `missed` during the attempt is not attempted again, but a successful attempt delivered it. */
function toOutcome(verdict: DeliveryVerdict, before: DeliveryStatus): Step['outcome'] {
  if (verdict.kind === 'succeeded') return { status: verdict.kind, dueAt: null }
  if (before === 'missed') return { status: before, dueAt: null }
  if (verdict.kind === 'exhausted') return { status: verdict.kind, dueAt: null }
  return { status: before, dueAt: verdict.dueAt }
}

async function insertAttempts(tx: Db, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId, attempt }, number, answer }) => ({
    delivery_id: deliveryId,
    number,
    at: moment(attempt.at),
    status: attempt.status,
    failure: attempt.failure,
    duration_ms: attempt.durationMs,
    response: answer,
  }))
  await tx.insertInto('attempts').values(rows).execute()
}

/** One statement for each status. */
async function conclude(tx: Db, steps: readonly Step[]): Promise<void> {
  for (const [status, group] of Map.groupBy(steps, ({ outcome }) => outcome.status)) {
    const ids = group.map(({ result }) => result.deliveryId)
    const dueTimes = group.map(({ result: { deliveryId }, outcome }) => ({
      id: deliveryId,
      at: outcome.dueAt,
    }))
    await tx
      .updateTable('deliveries')
      .set((set) => ({
        status,
        attempts: set('attempts', '+', 1),
        due_at: status === 'pending' ? dueTimeOf(dueTimes) : null,
      }))
      .where('id', 'in', ids)
      .execute()
  }
}

/** The next delivery of a lane becomes due when the one before it has ended. */
async function advance(tx: Db, steps: readonly Step[]): Promise<void> {
  const next = steps.flatMap(({ nextId, result }) =>
    nextId === null ? [] : [{ id: nextId, at: result.attempt.at }],
  )
  if (next.length === 0) return
  await tx
    .updateTable('deliveries')
    .set({ due_at: dueTimeOf(next) })
    .where(
      'id',
      'in',
      next.map(({ id }) => id),
    )
    .where(isPending)
    .where('due_at', 'is', null)
    .execute()
}

/** The due time of each of these rows. `else due_at` gives PostgreSQL the type of the parameters. */
function dueTimeOf(rows: readonly { readonly id: DeliveryId; readonly at: number | null }[]) {
  const cases = rows.map(({ id, at }) => sql`when ${id} then ${momentOrNull(at)}`)
  return sql<Date | null>`case id ${sql.join(cases, sql` `)} else due_at end`
}

function longestWait(results: readonly AttemptResult[]): number | null {
  const waits = results.flatMap(({ holdUntil }) => holdUntil ?? [])
  return waits.length === 0 ? null : Math.max(...waits)
}

/**
 * Mostly a success of a healthy endpoint: nothing changes.
 * @param notBefore a demanded wait; null: none was demanded.
 */
async function saveHealth(
  tx: Db,
  before: EndpointState['endpoint'],
  after: EndpointState['endpoint'],
  notBefore: Date | null,
): Promise<void> {
  const wait = notBefore === null ? pauseAfter(before, after) : { not_before: notBefore }
  if (!isSameHealth(before, after) || notBefore !== null)
    await tx
      .updateTable('webhook_endpoints')
      .set({ ...healthColumns(after), ...wait })
      .where('id', '=', after.id)
      .execute()
  if (after.health === 'disabled') await missPending(tx, after.id)
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

/**
 * The rows of attempts and what they change of deliveries, of one transaction: each statement once, with the
 * same text for any number of rows.
 */
import { sql } from 'kysely'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { fromRows, isListed, perKind, toIdList, toRowList } from '../engine/lists.ts'
import { type Db, moment, momentOrNull } from '../engine/tables.ts'
import type { AttemptResult, DeliveryStatus, DueDelivery } from '../ports/deliveries.ts'

export interface Delivery {
  readonly id: DeliveryId
  readonly eventId: EventId
  readonly endpointId: string
  readonly attempts: number
  readonly status: DeliveryStatus
  readonly position: number
  /** The delivery that becomes due when this one has ended. */
  readonly nextId: DeliveryId | null
}

/** The deliveries with these ids that exist. The caller has locked their endpoints. */
export async function readDeliveries(
  { kind, queries }: Engine,
  tx: Db,
  ids: readonly DeliveryId[],
): Promise<Map<DeliveryId, Delivery>> {
  const list = toIdList(kind, ids)
  const { rows } = await tx.executeQuery(queries.compile(selectDeliveries[kind], tx, { list }))
  return new Map(rows.map((row) => [row.id, row]))
}

const selectDeliveries = perKind((kind) => (tx: Db, { list }: Listed) => {
  const query = sql<Delivery>`
    select id, event_id as "eventId", endpoint_id as "endpointId", attempts, status, position, (
      select next.id from deliveries as next
      where next.endpoint_id = deliveries.endpoint_id and next.lane = deliveries.lane
        and next.status = 'pending' and next.position > deliveries.position
      order by next.position limit 1
    ) as "nextId"
    from deliveries where ${isListed(kind, 'id', list)}
  `
  return { compile: () => query.compile(tx) }
})

/** What one result changes. */
export interface AttemptChange {
  readonly result: AttemptResult
  readonly number: number
  readonly outcome: { readonly status: DeliveryStatus; readonly dueAt: number | null }
  /** Null: there is none, or the event's key is missing (a restored backup): it could never be opened. */
  readonly answer: Uint8Array | null
  /** Becomes due now; null: none does. */
  readonly nextId: DeliveryId | null
}

/** What the statements below take: rows as `toRowList` has them. */
interface Listed {
  readonly [name: string]: string
  readonly list: string
}

const attemptColumns = {
  delivery_id: 'uuid',
  number: 'integer',
  at: 'timestamptz',
  status: 'integer',
  failure: 'text',
  duration_ms: 'integer',
  response: 'bytea',
} as const

const insertRows = perKind((kind) => (tx: Db, { list }: Listed) => {
  const query = sql`
    insert into attempts (delivery_id, number, at, status, failure, duration_ms, response)
    select delivery_id, number, at, status, failure, duration_ms, response
    from ${fromRows(kind, attemptColumns, list)}
  `
  return { compile: () => query.compile(tx) }
})

export function insertAttempts(
  engine: Engine,
  tx: Db,
  steps: readonly AttemptChange[],
): Promise<void> {
  const rows = steps.map(({ result: { deliveryId, attempt }, number, answer }) => ({
    delivery_id: deliveryId,
    number,
    at: moment(attempt.at),
    status: attempt.status,
    failure: attempt.failure,
    duration_ms: attempt.durationMs,
    response: answer,
  }))
  const list = toRowList<typeof attemptColumns>(rows)
  return engine.later(tx, engine.queries.compile(insertRows[engine.kind], tx, { list }))
}

const outcomeColumns = {
  id: 'uuid',
  status: 'text',
  due_at: 'timestamptz',
  attempts: 'integer',
} as const

const updateOutcomes = perKind((kind) => (tx: Db, { list }: Listed) => {
  const query = sql`
    update deliveries set status = given.status, attempts = given.attempts, due_at = given.due_at
    from ${fromRows(kind, outcomeColumns, list)}
    where deliveries.id = given.id
  `
  return { compile: () => query.compile(tx) }
})

/** Stores what became of deliveries; where one has several attempts, the last one counts. */
export function conclude(engine: Engine, tx: Db, steps: readonly AttemptChange[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId }, outcome, number }) => ({
    id: deliveryId,
    status: outcome.status,
    due_at: outcome.status === 'pending' ? momentOrNull(outcome.dueAt) : null,
    attempts: number,
  }))
  const last = [...new Map(rows.map((row) => [row.id, row])).values()]
  const list = toRowList<typeof outcomeColumns>(last)
  return engine.later(tx, engine.queries.compile(updateOutcomes[engine.kind], tx, { list }))
}

const dueTimeColumns = { id: 'uuid', due_at: 'timestamptz' } as const

const updateDueTimes = perKind((kind) => (tx: Db, { list }: Listed) => {
  const query = sql<DueDelivery>`
    update deliveries set due_at = given.due_at
    from ${fromRows(kind, dueTimeColumns, list)}
    where deliveries.id = given.id and status = 'pending' and deliveries.due_at is null
    returning deliveries.id, event_id as "eventId", attempts, deliveries.due_at as "dueAt",
      created_at as "createdAt", is_replay as "isReplay", is_test as "isTest"
  `
  return { compile: () => query.compile(tx) }
})

/** The next delivery of a lane becomes due when the one before it has ended. Returns those by their ids. */
export async function advance(
  { kind, queries }: Engine,
  tx: Db,
  steps: readonly AttemptChange[],
): Promise<ReadonlyMap<DeliveryId, DueDelivery>> {
  const next = steps.flatMap(({ nextId, result }) =>
    nextId === null ? [] : [{ id: nextId, due_at: moment(result.attempt.at) }],
  )
  if (next.length === 0) return new Map()
  const list = toRowList<typeof dueTimeColumns>(next)
  const { rows } = await tx.executeQuery(queries.compile(updateDueTimes[kind], tx, { list }))
  return new Map(rows.map((row) => [row.id, row]))
}

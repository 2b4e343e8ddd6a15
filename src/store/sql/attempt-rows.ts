/**
 * The rows of attempts and what they change of deliveries, of one transaction: each statement once, with the same text for
 * any number of rows.
 */
import { sql } from 'kysely'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type { AttemptResult, DeliveryStatus, DueDelivery } from '../ports/deliveries.ts'
import type { Engine } from './engine.ts'
import { type Columns, isListed, toIdList, toRows, toTable } from './lists.ts'
import type { Db } from './tables.ts'

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

const selectDeliveries = perKind((kind) => (tx: Db, { list }: { readonly list: string }) => {
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
export interface Step {
  readonly result: AttemptResult
  readonly number: number
  readonly outcome: { readonly status: DeliveryStatus; readonly dueAt: number | null }
  /** Null: there is none, or the event's key is missing (a restored backup), so that it could never be decrypted. */
  readonly answer: Uint8Array | null
  /** Becomes due now; null: none does. */
  readonly nextId: DeliveryId | null
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

export function insertAttempts(engine: Engine, tx: Db, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId, attempt }, number, answer }) => ({
    delivery_id: deliveryId,
    number,
    at: toText(attempt.at),
    status: attempt.status,
    failure: attempt.failure,
    duration_ms: attempt.durationMs,
    response: answer === null ? null : Buffer.from(answer).toString('hex'),
  }))
  const given = { rows: toRows(attemptColumns, rows) }
  return engine.later(tx, engine.queries.compile(insertRows[engine.kind], tx, given))
}

interface Given {
  readonly [name: string]: string
  readonly rows: string
}

const insertRows = perKind((kind) => (tx: Db, { rows }: Given) => {
  const names = sql.raw(Object.keys(attemptColumns).join(', '))
  const query = sql`
    insert into attempts (${names}) select ${names} from ${toTable(kind, attemptColumns, rows)}
  `
  return { compile: () => query.compile(tx) }
})

const outcomeColumns = {
  id: 'uuid',
  status: 'text',
  due_at: 'timestamptz',
  attempts: 'integer',
} as const

/** Of several attempts of one delivery the last one counts. */
export function conclude(engine: Engine, tx: Db, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId }, outcome, number }) => ({
    id: deliveryId,
    status: outcome.status,
    due_at: outcome.status === 'pending' ? toText(outcome.dueAt) : null,
    attempts: number,
  }))
  const last = [...new Map(rows.map((row) => [row.id, row])).values()]
  const given = { rows: toRows(outcomeColumns, last) }
  return engine.later(tx, engine.queries.compile(updateOutcomes[engine.kind], tx, given))
}

const updateOutcomes = perKind((kind) => (tx: Db, { rows }: Given) => {
  const query = sql`
    update deliveries set status = given.status, attempts = given.attempts, due_at = given.due_at
    from ${toTable(kind, outcomeColumns, rows)} where deliveries.id = given.id
  `
  return { compile: () => query.compile(tx) }
})

const dueColumns: Columns<{ id: string; due_at: string | null }> = {
  id: 'uuid',
  due_at: 'timestamptz',
}

/** The next delivery of a lane becomes due when the one before it has ended. Returns those that did, by their ids. */
export async function advance(
  { kind, queries }: Engine,
  tx: Db,
  steps: readonly Step[],
): Promise<ReadonlyMap<DeliveryId, DueDelivery>> {
  const next = steps.flatMap(({ nextId, result }) =>
    nextId === null ? [] : [{ id: nextId, due_at: toText(result.attempt.at) }],
  )
  if (next.length === 0) return new Map()
  const given = { rows: toRows(dueColumns, next) }
  const { rows } = await tx.executeQuery(queries.compile(updateDueTimes[kind], tx, given))
  return new Map(rows.map((row) => [row.id, row]))
}

const updateDueTimes = perKind((kind) => (tx: Db, { rows }: Given) => {
  const query = sql<DueDelivery>`
    update deliveries set due_at = given.due_at from ${toTable(kind, dueColumns, rows)}
    where deliveries.id = given.id and deliveries.status = 'pending' and deliveries.due_at is null
    returning deliveries.id, event_id as "eventId", attempts, deliveries.due_at as "dueAt",
      created_at as "createdAt", is_replay as "isReplay", is_test as "isTest"
  `
  return { compile: () => query.compile(tx) }
})

/** A statement differs between the engines, and is built once for each. */
function perKind<Build>(make: (kind: Engine['kind']) => Build): Record<Engine['kind'], Build> {
  return { sqlite: make('sqlite'), postgres: make('postgres') }
}

/** Milliseconds since the epoch as both engines read them. */
function toText(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

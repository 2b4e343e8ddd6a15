/**
 * The rows of attempts and what they change of deliveries, of one transaction: each statement once, with the same text for
 * any number of rows.
 */
import { sql } from 'kysely'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { isListed, makeForRows, toIdList } from '../engine/lists.ts'
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

const insertRows = makeForRows(
  {
    delivery_id: 'uuid',
    number: 'integer',
    at: 'timestamptz',
    status: 'integer',
    failure: 'text',
    duration_ms: 'integer',
    response: 'bytea',
  },
  ({ value, from }) => sql`
    insert into attempts (delivery_id, number, at, status, failure, duration_ms, response)
    select ${value.delivery_id}, ${value.number}, ${value.at}, ${value.status}, ${value.failure},
      ${value.duration_ms}, ${value.response} ${from}
  `,
)

export function insertAttempts(engine: Engine, tx: Db, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId, attempt }, number, answer }) => ({
    delivery_id: deliveryId,
    number,
    at: moment(attempt.at),
    status: attempt.status,
    failure: attempt.failure,
    duration_ms: attempt.durationMs,
    response: answer,
  }))
  return engine.later(tx, insertRows(engine.kind, tx, rows))
}

const updateOutcomes = makeForRows(
  { id: 'uuid', status: 'text', due_at: 'timestamptz', attempts: 'integer' },
  ({ value, from }) => sql`
    update deliveries
    set status = ${value.status}, attempts = ${value.attempts}, due_at = ${value.due_at} ${from}
    where deliveries.id = ${value.id}
  `,
)

/** Of several attempts of one delivery the last one counts. */
export function conclude(engine: Engine, tx: Db, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ result: { deliveryId }, outcome, number }) => ({
    id: deliveryId,
    status: outcome.status,
    due_at: outcome.status === 'pending' ? momentOrNull(outcome.dueAt) : null,
    attempts: number,
  }))
  const last = [...new Map(rows.map((row) => [row.id, row])).values()]
  return engine.later(tx, updateOutcomes(engine.kind, tx, last))
}

const updateDueTimes = makeForRows(
  { id: 'uuid', due_at: 'timestamptz' },
  ({ value, from }) => sql<DueDelivery>`
    update deliveries set due_at = ${value.due_at} ${from}
    where deliveries.id = ${value.id} and status = 'pending' and deliveries.due_at is null
    returning deliveries.id, event_id as "eventId", attempts, deliveries.due_at as "dueAt",
      created_at as "createdAt", is_replay as "isReplay", is_test as "isTest"
  `,
)

/** The next delivery of a lane becomes due when the one before it has ended. Returns those that did, by their ids. */
export async function advance(
  { kind }: Engine,
  tx: Db,
  steps: readonly Step[],
): Promise<ReadonlyMap<DeliveryId, DueDelivery>> {
  const next = steps.flatMap(({ nextId, result }) =>
    nextId === null ? [] : [{ id: nextId, due_at: moment(result.attempt.at) }],
  )
  if (next.length === 0) return new Map()
  const { rows } = await tx.executeQuery(updateDueTimes(kind, tx, next))
  return new Map(rows.map((row) => [row.id, row]))
}

/** A statement differs between the engines, and is built once for each. */
function perKind<Build>(make: (kind: Engine['kind']) => Build): Record<Engine['kind'], Build> {
  return { sqlite: make('sqlite'), postgres: make('postgres') }
}

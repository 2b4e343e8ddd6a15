/**
 * The results of attempts, many of one transaction in a fixed number of statements: the endpoints' rows are
 * locked, the deliveries read, and what follows is computed as if one result were stored after another.
 */
import type { InferResult } from 'kysely'
import type { DeliveryId, EventId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { isListed, perKind, toIdList } from '../engine/lists.ts'
import type { Db } from '../engine/tables.ts'
import type {
  AttemptResult,
  DeliveryDecision,
  DeliveryStatus,
  EndpointState,
  RecordedState,
} from '../ports/deliveries.ts'
import type { HealthChange } from '../ports/endpoints.ts'
import type { SealedBody } from '../ports/events.ts'
import type { Sealer } from '../seal.ts'
import {
  type AttemptChange,
  advance,
  conclude,
  type Delivery,
  insertAttempts,
  readDeliveries,
} from './attempt-rows.ts'
import { healthColumns, holdEndpoints, laterOf, secretColumns } from './endpoint-rows.ts'
import { readKeys } from './event-keys.ts'
import { sealResponse } from './event-seal.ts'
import { deliveryStatusOf, missPending } from './missed.ts'
import type { OpenedEndpoints } from './opened-endpoints.ts'

interface Parts {
  readonly engine: Engine
  readonly sealer: Sealer
  readonly opened: OpenedEndpoints
}

/** As `DeliveryStore.record`, within the transaction `tx`. */
export async function recordAttempts(
  { engine, sealer, opened }: Parts,
  tx: Db,
  results: readonly AttemptResult[],
): Promise<readonly (RecordedState | null)[]> {
  const held = new Map<string, Held>()
  const leases = new Set(results.map(({ lease }) => lease))
  await holdByLease(engine, tx, [...leases], held)
  // What is held is known when these are read.
  const deliveries = await readDeliveries(
    engine,
    tx,
    results.map(({ deliveryId }) => deliveryId),
  )
  const mine = results.filter(({ lease }) => held.has(lease))
  if (mine.length === 0) return results.map(() => null)
  const keys = await readMissingKeys({ engine: { ...engine, db: tx }, sealer }, mine, deliveries)
  const states = new Map([...held].map(([lease, row]) => [lease, opened.open(lease, row)]))
  const before = new Map([...states].map(([lease, { endpoint }]) => [lease, endpoint]))
  const steps: AttemptChange[] = []
  const after = results.map((result) => {
    const state = states.get(result.lease)
    if (state === undefined) return null
    const { endpoint } = state
    const delivery = deliveries.get(result.deliveryId)
    // It was missed during the attempt, and then a new replay of its event replaced it.
    if (delivery === undefined) return null
    if (delivery.endpointId !== endpoint.id || !isOpen(delivery.status))
      throw new Error('an attempt was recorded of a delivery that this lease does not cover')
    const missedTo = held.get(result.lease)?.missedTo ?? null
    const status = endpoint.health === 'disabled' ? 'missed' : deliveryStatusOf(delivery, missedTo)
    const key = needsKey(result, delivery) ? keys.get(delivery.eventId) : result.body
    const step = toStep(result, { ...delivery, status }, key)
    steps.push(step)
    deliveries.set(delivery.id, { ...delivery, ...step.outcome, attempts: step.number })
    const next = { ...state, endpoint: { ...endpoint, ...result.health(endpoint) } }
    states.set(result.lease, next)
    return { ...next, status: step.outcome.status, nextId: step.nextId }
  })
  await insertAttempts(engine, tx, steps)
  await conclude(engine, tx, steps)
  const due = await advance(engine, tx, steps)
  for (const [lease, { endpoint }] of states) {
    const former = before.get(lease)
    const wait = longestWait(mine.filter((result) => result.lease === lease))
    const notBefore = wait === null ? null : laterOf(held.get(lease)?.notBefore ?? null, wait)
    if (former !== undefined) await saveHealth(tx, former, endpoint, notBefore)
  }
  return after.map((state) => {
    if (state === null) return null
    const { nextId, ...recorded } = state
    return { ...recorded, next: nextId === null ? null : (due.get(nextId) ?? null) }
  })
}

type AnswerKey = Pick<SealedBody, 'sealResponse'>

/** One that came with the result is used while the delivery is pending: its event is not shredded then. */
const needsKey = ({ body }: AttemptResult, { status }: Delivery): boolean =>
  body === undefined || status !== 'pending'

/**
 * The keys of answers that cannot be sealed under the one that came with the result, as far as they exist.
 */
async function readMissingKeys(
  parts: Pick<Parts, 'engine' | 'sealer'>,
  results: readonly AttemptResult[],
  deliveries: ReadonlyMap<DeliveryId, Delivery>,
): Promise<ReadonlyMap<EventId, AnswerKey>> {
  const events = results.flatMap((result) => {
    const delivery = deliveries.get(result.deliveryId)
    if (delivery === undefined || result.attempt.response === null) return []
    return needsKey(result, delivery) ? [delivery.eventId] : []
  })
  if (events.length === 0) return new Map()
  const keys = await readKeys(parts, [...new Set(events)])
  return new Map(
    [...keys].map(([id, key]) => [
      id,
      { sealResponse: (attempt, response) => sealResponse(key, attempt, response) },
    ]),
  )
}

/**
 * Locked in the order of their ids, as everywhere: two transactions do not deadlock. On PostgreSQL they are
 * locked with the next statement: without a message of its own.
 * @param held gets the rows by their leases.
 */
function holdByLease(engine: Engine, tx: Db, leases: readonly string[], held: Map<string, Held>) {
  const { kind, queries } = engine
  const query = queries.compile(holdListed[kind], tx, { list: toIdList(kind, leases) })
  return engine.later(tx, query, {
    check(rows) {
      for (const row of rows) if (row.lease !== null) held.set(row.lease, row)
    },
  })
}

type Held = InferResult<ReturnType<typeof holdListed.sqlite>>[number]

const holdListed = perKind(
  (kind) =>
    (tx: Db, { list }: { readonly list: string }) =>
      holdEndpoints({ kind }, tx)
        .select(secretColumns)
        .where(isListed(kind, 'lease', list))
        .orderBy('id'),
)

function toStep(
  result: AttemptResult,
  delivery: Delivery,
  key: AnswerKey | undefined,
): AttemptChange {
  const { deliveryId, attempt, decision } = result
  const number = delivery.attempts + 1
  const outcome = toOutcome(decision, delivery.status)
  const { response } = attempt
  const isOver = delivery.status === 'pending' && outcome.status !== 'pending'
  return {
    result,
    number,
    outcome,
    answer:
      response === null ? null : (key?.sealResponse({ deliveryId, number }, response) ?? null),
    nextId: isOver ? delivery.nextId : null,
  }
}

/** A delivery becomes `missed` when its endpoint is disabled during the attempt. */
const isOpen = (status: DeliveryStatus): boolean => status === 'pending' || status === 'missed'

/** A delivery that became `missed` during the attempt is not attempted again; a success delivered it. */
function toOutcome(decision: DeliveryDecision, before: DeliveryStatus): AttemptChange['outcome'] {
  if (decision.kind === 'succeeded') return { status: decision.kind, dueAt: null }
  if (before === 'missed') return { status: before, dueAt: null }
  if (decision.kind === 'exhausted') return { status: decision.kind, dueAt: null }
  return { status: before, dueAt: decision.dueAt }
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

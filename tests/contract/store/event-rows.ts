/** What tests put into the event river: endpoints, accepted events, and the steps of a delivery. */
import { randomBytes } from 'node:crypto'
import type { EventType } from '#contract/events.ts'
import {
  type ConnectionId,
  type DeliveryId,
  type EndpointId,
  type EventId,
  newId,
  type UserId,
} from '#kernel/ids.ts'
import type {
  AttemptResult,
  ClaimedEndpoint,
  DeliveryDecision,
  NewAttempt,
} from '#store/ports/deliveries.ts'
import type { EndpointRow, HealthChange, NewEndpoint } from '#store/ports/endpoints.ts'
import type { NewEvent, SealedEvent } from '#store/ports/events.ts'
import type { Store } from '#store/ports/store.ts'
import { now } from './rows.ts'

export const minute = 60_000
export const hour = 60 * minute

export const healthy: HealthChange = {
  health: 'healthy',
  failures: 0,
  failingSince: null,
  warnedDays: 0,
  disabledReason: null,
}
export const degraded: HealthChange = {
  ...healthy,
  health: 'degraded',
  failures: 1,
  failingSince: now,
}
export const paused: HealthChange = { ...degraded, health: 'paused', failures: 5 }
export const disabled: HealthChange = { ...healthy, health: 'disabled', disabledReason: 'owner' }

export function newEndpoint(userId: UserId, over: Partial<NewEndpoint> = {}): NewEndpoint {
  return {
    userId,
    url: 'https://consumer.example.test/hook',
    events: ['transactions.synced', 'trades.synced'],
    skipEmpty: false,
    secret: `whsec_${randomBytes(24).toString('base64')}`,
    createdAt: now,
    ...over,
  }
}

export async function addEndpoint(
  store: Store,
  userId: UserId,
  over: Partial<NewEndpoint> = {},
): Promise<EndpointRow> {
  const row = await store.endpoints.create(newEndpoint(userId, over), 20)
  if (row === 'too_many') throw new Error('the user of the test has too many endpoints')
  return row
}

export function newEvent(
  userId: UserId,
  connectionId: ConnectionId | null,
  over: Partial<NewEvent> = {},
): NewEvent {
  const id = newId<EventId>()
  const type: EventType = 'transactions.synced'
  return {
    id,
    userId,
    connectionId,
    runId: null,
    type,
    chunk: 1,
    totalChunks: 1,
    isEmpty: false,
    createdAt: now,
    body: Buffer.from(JSON.stringify({ id, object: 'event', type })),
    ...over,
  }
}

/** Seals them and accepts them in one transaction. */
export async function accept(
  store: Store,
  events: readonly NewEvent[],
  only?: EndpointId,
): Promise<readonly SealedEvent[]> {
  const sealed = await store.events.seal(events)
  await store.transact((tx) => tx.events.accept(sealed, only))
  return sealed
}

/** Several chunks of one run, accepted as one; their ids in order. */
export async function acceptChunks(
  store: Store,
  userId: UserId,
  connectionId: ConnectionId,
  count: number,
): Promise<readonly EventId[]> {
  const events = Array.from({ length: count }, (_, index) =>
    newEvent(userId, connectionId, { chunk: index + 1, totalChunks: count }),
  )
  await accept(store, events)
  return events.map(({ id }) => id)
}

/** Takes the lease of this endpoint, and gives back those of others that were taken with it. */
export async function claimEndpoint(
  store: Pick<Store, 'deliveries'>,
  id: EndpointId,
  at = now,
): Promise<ClaimedEndpoint | null> {
  let found: ClaimedEndpoint | null = null
  for (const unhealthy of [false, true]) {
    const claimed = await store.deliveries.claimEndpoints({
      now: at,
      leaseMs: minute,
      limit: 100,
      unhealthy,
    })
    for (const one of claimed) {
      if (one.endpoint.id === id) found = one
      else await store.deliveries.release(one.lease, { now: at, notBefore: at })
    }
  }
  return found
}

/** The events that are due at the endpoint, in their order. */
export async function dueEvents(
  store: Store,
  id: EndpointId,
  at = now,
): Promise<readonly EventId[]> {
  const due = await store.deliveries.listDue(id, { now: at, limit: 100 })
  return due.map(({ eventId }) => eventId)
}

export function attemptOf(over: Partial<NewAttempt> = {}): NewAttempt {
  return { at: now, status: 200, failure: null, durationMs: 12, response: null, ...over }
}

/** Keeps an attempt of the delivery; true while the lease holds. */
export async function recordAs(
  store: Store,
  lease: string,
  deliveryId: DeliveryId,
  over: ResultOptions = {},
): Promise<boolean> {
  const [state] = await store.deliveries.record([resultAs(lease, deliveryId, over)])
  return state !== null
}

interface ResultOptions {
  readonly decision?: DeliveryDecision
  readonly holdUntil?: number
  readonly health?: HealthChange
  readonly attempt?: Partial<NewAttempt>
}

/** A success of a healthy endpoint, or what is given. */
export function resultAs(
  lease: string,
  deliveryId: DeliveryId,
  over: ResultOptions = {},
): AttemptResult {
  return {
    lease,
    deliveryId,
    attempt: attemptOf(over.attempt),
    decision: over.decision ?? { kind: 'succeeded' },
    holdUntil: over.holdUntil ?? null,
    health: () => over.health ?? healthy,
  }
}

/**
 * Claims the endpoint, delivers whatever is due until nothing is, and gives it back; the events in the order
 * sent.
 */
export async function deliverAll(
  store: Store,
  id: EndpointId,
  at = now,
): Promise<readonly EventId[]> {
  const claimed = await claimEndpoint(store, id, at)
  if (claimed === null) return []
  const sent: EventId[] = []
  for (;;) {
    const due = await store.deliveries.listDue(id, { now: at, limit: 10 })
    if (due.length === 0) break
    for (const delivery of due) {
      await recordAs(store, claimed.lease, delivery.id, { attempt: { at } })
      sent.push(delivery.eventId)
    }
  }
  await store.deliveries.release(claimed.lease, { now: at, notBefore: at })
  return sent
}

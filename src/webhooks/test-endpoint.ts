/**
 * Sends a test event to one endpoint: a signed event of a type that the endpoint takes, without rows and
 * without a sync run. It waits for the first attempt and returns its result; if nothing was sent in time, the
 * delivery is still pending.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { By } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import {
  type ConnectionEvent,
  type ConnectionEventType,
  connectionEventTypes,
  type EventType,
} from '#contract/events.ts'
import { providers } from '#contract/resources.ts'
import type { DeliveryId, EndpointId, EventId } from '#kernel/ids.ts'
import { dayMs, type Millis, toIso } from '#kernel/time.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { NewEvent } from '#store/ports/events.ts'
import { makeConnectionEvent } from './connection-envelope.ts'
import { type EndpointOptions, findOwnEndpoint, refuseDamaged } from './endpoint-options.ts'
import { makeEvents } from './envelope.ts'

/** Longer than the 15 s of an attempt. */
const waitMs = 20_000
const lookEveryMs = 100
/** The test is among the newest deliveries. */
const newest = 100

/**
 * The delivery, with its first attempt if one was made within 20 s.
 * @throws ApiError `webhook_not_found`, `webhook_disabled`, `invalid_params`.
 */
export type TestEndpoint = (by: By, id: EndpointId) => Promise<DeliveryRow>

export function makeTestEndpoint(options: EndpointOptions): TestEndpoint {
  const { store, clock } = options
  return async (by, id) => {
    const endpoint = await findOwnEndpoint(store, by, id)
    if (endpoint.health === 'disabled') throw apiError('webhook_disabled')
    refuseDamaged(endpoint)
    const { userId } = endpoint
    const at = clock.now()
    const events = makeTestEvents(endpoint, at)
    const sealed = await store.events.seal(events)
    await store.transact(async (tx) => {
      await findOwnEndpoint(tx, by, id)
      await tx.events.accept(sealed, id)
      const details = { endpointId: id }
      await tx.audit({ at, actor: by.actor, action: 'webhooks.test', userId, details })
    })
    return waitForAttempt(options, await findDelivery(options, id, sealed[0]?.id))
  }
}

/** An endpoint for events about connections alone gets one about a connection that does not exist. */
function makeTestEvents({ userId, events }: EndpointRow, createdAt: Millis): Iterable<NewEvent> {
  const [type = 'transactions.synced'] = events
  const draft = { userId, connectionId: null, createdAt }
  if (!isConnectionType(type))
    return makeEvents({ ...draft, runId: null, type, new: [], updated: [] })
  const expiresAt = type === 'connection.expiring' ? createdAt + expiresInMs : null
  return [makeConnectionEvent({ ...draft, type, data: toMadeUp(createdAt), expiresAt })]
}

const isConnectionType = (type: EventType): type is ConnectionEventType =>
  connectionEventTypes.some((one) => one === type)

const expiresInMs = 7 * dayMs

const toMadeUp = (createdAt: Millis): ConnectionEvent => ({
  id: '00000000-0000-0000-0000-000000000000',
  provider: providers[0],
  category: 'banking',
  institution_id: 'test',
  institution_name: 'Test event',
  institution_logo: null,
  status: 'active',
  last_refreshed_at: null,
  created_at: toIso(createdAt),
})

async function findDelivery(
  { store }: EndpointOptions,
  endpointId: EndpointId,
  eventId: EventId | undefined,
): Promise<DeliveryId> {
  const rows = await store.deliveries.list(endpointId, { after: null, limit: newest })
  const row = rows.find((one) => one.eventId === eventId)
  // Removed at this moment.
  if (row === undefined) throw apiError('webhook_not_found')
  return row.id
}

async function waitForAttempt({ store }: EndpointOptions, id: DeliveryId): Promise<DeliveryRow> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const row = await store.deliveries.find(id)
    if (row === null) throw apiError('webhook_not_found')
    if (row.attempts.length > 0 || performance.now() >= deadline) return row
    await wait(lookEveryMs)
  }
}

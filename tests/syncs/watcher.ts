/**
 * A consumer for tests of syncs: a user with a ledger and an endpoint that takes every event. It reads the
 * events where deliveries would, sealed in the store, and holds each against its schema; nothing is sent
 * anywhere.
 */
import assert from 'node:assert/strict'
import { byOperator } from '#contract/actor.ts'
import { syncEventTypes } from '#contract/events.ts'
import type { ConnectionId, DeliveryId } from '#kernel/ids.ts'
import type { SyncRunRow } from '#store/ports/syncs.ts'
import type { SyncAnswer } from '#syncs/sync-now.ts'
import type { Service, ServiceUser } from '#tests/support/service.ts'
import { parseEvent, type SyncedEvent } from '#tests/support/synced-event.ts'

/** One object of `data.new` or `data.updated`. */
export type EventObject = SyncedEvent['data']['new'][number]

export interface SyncResult {
  readonly answer: SyncAnswer
  readonly events: readonly SyncedEvent[]
  /** Of all its events. */
  readonly new: readonly EventObject[]
  readonly updated: readonly EventObject[]
}

export interface Watcher {
  /** Runs a sync as an operator would; throws the operator's error. */
  sync(connectionId: ConnectionId): Promise<SyncResult>
  /** Those accepted since the last call, in their order. */
  takeEvents(): Promise<readonly SyncedEvent[]>
  /** The latest run of a connection. */
  lastRun(connectionId: ConnectionId): Promise<SyncRunRow>
}

/** More than any test makes. */
const manyDeliveries = 2000

/** From now on the user has a ledger, as after making a first endpoint (reading R34b). */
export async function watch(
  service: Service,
  user: ServiceUser,
  options: { readonly pending?: boolean } = {},
): Promise<Watcher> {
  const { store, syncs } = service.app
  const endpoint = await store.endpoints.create(
    {
      userId: user.id,
      url: 'https://consumer.example/events',
      events: [...syncEventTypes],
      skipEmpty: false,
      ...options,
      secret: 'whsec_dGhpcyBpcyBhIHNlY3JldCBvZiBhIHRlc3Q=',
      createdAt: service.clock.now(),
    },
    20,
  )
  assert(endpoint !== 'too_many')
  const { id: endpointId } = endpoint
  await store.ledgers.begin(user.id)
  const seen = new Set<DeliveryId>()

  async function takeEvents(): Promise<readonly SyncedEvent[]> {
    const page = { after: null, limit: manyDeliveries }
    const rows = await store.deliveries.list(endpointId, page)
    const fresh = rows.filter(({ id }) => !seen.has(id)).toReversed()
    const events: SyncedEvent[] = []
    for (const { id, eventId } of fresh) {
      seen.add(id)
      const body = await store.events.open(eventId)
      assert(body !== null, 'the payload of an accepted event opens')
      events.push(parseEvent(Buffer.from(body).toString('utf8')))
    }
    return events.toSorted((one, other) => one.metadata.chunk - other.metadata.chunk)
  }

  return {
    takeEvents,
    async sync(connectionId) {
      // Runs are distinguished by their start.
      service.clock.advance(1)
      const answer = await syncs.runSync(byOperator, connectionId)
      const events = await takeEvents()
      return {
        answer,
        events,
        new: events.flatMap(({ data }): readonly EventObject[] => data.new),
        updated: events.flatMap(({ data }): readonly EventObject[] => data.updated),
      }
    },
    async lastRun(connectionId) {
      const [run] = await store.syncs.listRuns(connectionId, 1)
      assert(run !== undefined, 'the connection was synced')
      return run
    },
  }
}

/**
 * Accepts the events about connections that wait in the store (reading R41): seals each, and ends its wait in
 * the transaction that accepts it. Of several processes that seal the same one, only one accepts it.
 */

import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { UserId } from '#kernel/ids.ts'
import { minuteMs } from '#kernel/time.ts'
import type { WaitingEvent } from '#store/ports/connection-events.ts'
import type { Store } from '#store/ports/store.ts'
import { makeConnectionEvent, toConnectionEvent } from './connection-envelope.ts'

const batchRows = 100
const maxBatches = 500
/** The longest wait; the store announces new ones. */
const everyMs = minuteMs
const restMs = 5000

type AcceptingStore = Pick<Store, 'connectionEvents' | 'events' | 'transact'>

/** Wake it when an event about a connection waits. */
export function makeConnectionEvents(store: AcceptingStore): PeriodicTask {
  return {
    name: 'connection-events',
    everyMs,
    restMs,
    firstRun: 'at_once',
    run: (stop) => acceptAll(store, stop),
  }
}

/** Users whose events cannot be accepted; with more of them the run ends. */
const maxFailed = 100

/** One user's events that cannot be accepted keep nobody else's waiting. */
async function acceptAll(store: AcceptingStore, stop: AbortSignal): Promise<void> {
  const failed = new Map<UserId, unknown>()
  const acceptSome = async () => {
    if (failed.size >= maxFailed) return 0
    const waiting = await store.connectionEvents.listWaiting(batchRows, [...failed.keys()])
    for (const [userId, own] of Map.groupBy(waiting, (one) => one.userId)) {
      await accept(store, userId, own).catch((error: unknown) => failed.set(userId, error))
    }
    return waiting.length
  }
  await runInBatches(acceptSome, { maxBatches, stop })
  if (failed.size === 0) return
  throw new AggregateError(failed.values(), 'events about connections still wait')
}

async function accept(
  store: AcceptingStore,
  userId: UserId,
  waiting: readonly WaitingEvent[],
): Promise<void> {
  const sealed = await store.events.seal(waiting.map(toNewEvent))
  await store.transact(async (tx) => {
    const ids = waiting.map(({ id }) => id)
    const taken = await tx.connectionEvents.take(userId, ids)
    // In the order of the changes; what another process took has been accepted there.
    await tx.events.accept(sealed.filter((_, index) => isTaken(taken, waiting[index])))
  })
}

function isTaken(taken: ReadonlySet<WaitingEvent['id']>, event: WaitingEvent | undefined): boolean {
  return event !== undefined && taken.has(event.id)
}

function toNewEvent({ userId, type, connection, expiresAt, createdAt }: WaitingEvent) {
  const data = toConnectionEvent(connection)
  return makeConnectionEvent({
    userId,
    connectionId: connection.id,
    type,
    data,
    expiresAt,
    createdAt,
  })
}

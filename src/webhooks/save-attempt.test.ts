import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Store } from '#store/ports/store.ts'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  resultAs,
} from '#tests/contract/store/event-rows.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addLink, now } from '#tests/contract/store/rows.ts'
import type { HealthSignal } from './health.ts'
import { makeSaveAttempt } from './save-attempt.ts'

/** Keeps one attempt for each signalal, and lists whether its transaction could be lost. */
async function keepEach(t: TestContext, signals: readonly HealthSignal[]): Promise<unknown[]> {
  const store = await openSqliteStore(t)
  const link = await addLink(store)
  const endpoint = await addEndpoint(store, link.user.id)
  await acceptChunks(store, link.user.id, link.connection.id, signals.length)
  const claimed = await claimEndpoint(store, endpoint.id)
  assert.ok(claimed)
  const lost: unknown[] = []
  const transact: Store['transact'] = (work, options) => {
    lost.push(options?.mayBeLost)
    return store.transact(work, options)
  }
  const clock = { now: () => now }
  const keep = makeSaveAttempt({ store: { ...store, transact }, clock, writers: 1 })
  for (const signal of signals) {
    const [due] = await store.deliveries.listDue(endpoint.id, { now, limit: 1 })
    assert.ok(due)
    const kind = signal === 'succeeded' ? signal : 'exhausted'
    const result = resultAs(claimed.lease, due.id, { decision: { kind } })
    assert.ok(await keep({ ...result, endpointId: endpoint.id, signal }))
  }
  return lost
}

test('that an event arrived may be forgotten with the machine, what follows from a failure may not', async (t) => {
  const lost = await keepEach(t, ['succeeded', 'failed', 'answered', 'succeeded', 'gone'])
  assert.deepEqual(lost, [true, false, false, true, false])
})

/** What the port promises of replays: how many of one event an endpoint has. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveryId } from '#kernel/ids.ts'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  disabled,
  healthy,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, now } from './rows.ts'

export function testReplays(store: StoreOf): void {
  const deliveries = () => store().deliveries
  const stage = async (chunks: number) => {
    const { user, connection } = await addLink(store())
    const endpoint = await addEndpoint(store(), user.id)
    return { endpoint, ids: await acceptChunks(store(), user.id, connection.id, chunks) }
  }

  test('an event has few deliveries at an endpoint, however often it is replayed', async () => {
    const { endpoint, ids } = await stage(2)
    const rows = () => deliveries().list(endpoint.id, { after: null, limit: 1000 })
    const range = { from: now, to: now + 1, at: now, limit: 100 }
    const [second, first] = await rows()
    assert.ok(first && second)
    const made: (DeliveryId | null)[] = []
    for (let count = 0; count < 8; count += 1) made.push(await deliveries().replay(first.id, now))
    assert.equal(new Set(made).size, 3)
    // Whoever asks for one more gets the newest of those that are pending.
    assert.deepEqual(made.slice(3), Array(5).fill(made[2]))
    for (let count = 0; count < 8; count += 1)
      assert.equal((await deliveries().replayRange(endpoint.id, range)).replayed, 2)
    assert.equal((await rows()).length, 2 + 2 * 3)
    await deliverAll(store(), endpoint.id)
    assert.equal((await rows()).length, 2 + 2 * 3)
    // The next one replaces the oldest that has ended, of its own event alone.
    const next = await deliveries().replay(made[0] ?? first.id, now)
    const replays = (await rows()).filter(({ isReplay }) => isReplay)
    assert.deepEqual(
      replays.map(({ id, eventId }) => (eventId === ids[0] ? id : eventId)),
      [next, ...Array(3).fill(ids[1]), made[2], made[1]],
    )
    await store().endpoints.setHealth(endpoint.id, disabled)
    for (let count = 0; count < 8; count += 1) {
      await store().endpoints.setHealth(endpoint.id, healthy)
      await deliveries().replayRange(endpoint.id, range)
      await store().endpoints.setHealth(endpoint.id, disabled)
    }
    assert.equal((await rows()).length, 2 + 2 * 3)
    assert.deepEqual(
      (await rows()).slice(-2).map(({ id }) => id),
      [second.id, first.id],
    )
  })

  test('an attempt of a replay that was missed and replaced meanwhile is not stored', async () => {
    const { endpoint, ids } = await stage(1)
    const [original] = await deliveries().list(endpoint.id, { after: null, limit: 1 })
    assert.ok(original)
    const sent = await deliveries().replay(original.id, now)
    assert.ok(sent)
    const { lease } = (await claimEndpoint(store(), endpoint.id)) ?? assert.fail()
    await store().endpoints.setHealth(endpoint.id, disabled)
    await store().endpoints.setHealth(endpoint.id, healthy)
    for (let count = 0; count < 3; count += 1) await deliveries().replay(original.id, now)
    assert.equal(await recordAs(store(), lease, sent), false, 'nothing was stored')
    assert.equal(await deliveries().find(sent), null)
    await deliveries().release(lease, { now, notBefore: now })
    assert.deepEqual(await deliverAll(store(), endpoint.id), [...ids, ...ids, ...ids])
  })
}

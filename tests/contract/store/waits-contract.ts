/** What the port promises after the clock was set back: nothing waits until the clock is there again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionId } from '#kernel/ids.ts'
import {
  accept,
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  degraded,
  dueEvents,
  hour,
  minute,
  newEvent,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, now } from './rows.ts'

const day = 24 * hour
const limits = { now, leaseMs: minute, longestMs: day }

export function testWaits(store: StoreOf): void {
  const claimSync = (connectionId: ConnectionId, at: number) =>
    store().syncs.claim(connectionId, { now: at, leaseMs: minute, reason: 'schedule' })
  /** Of these connections; the store has those of other tests too. */
  const listDue = async (at: number, ids: readonly ConnectionId[]) => {
    const claimed = await store().syncs.claimDue({ now: at, leaseMs: minute, limit: 100 })
    const due = claimed.map(({ connectionId }) => connectionId)
    return ids.filter((id) => due.includes(id))
  }
  /** A run that has ended; the next one is due then. */
  const scheduleSync = async (connectionId: ConnectionId, nextDueAt: number) => {
    const claim = await claimSync(connectionId, now)
    assert(claim?.kind === 'claimed')
    const outcome = { kind: 'abandoned' } as const
    await store().syncs.finish(claim.sync.runId, { outcome, endedAt: now, nextDueAt })
  }
  const stageDelivery = async () => {
    const link = await addLink(store())
    const endpoint = await addEndpoint(store(), link.user.id)
    const claim = async (at: number) =>
      (await claimEndpoint(store(), endpoint.id, at)) ?? assert.fail('it was not claimed')
    return { ...link, endpoint, claim }
  }

  test('a sync is due at once where no wait is so long, and a shorter wait stays', async () => {
    const [far, near] = [await addLink(store()), await addLink(store())]
    await scheduleSync(far.connection.id, now + 3 * day)
    await scheduleSync(near.connection.id, now + day)
    assert.equal(await store().syncs.shortenWaits(limits), 1)
    const ids = [far.connection.id, near.connection.id]
    assert.deepEqual(await listDue(now, ids), [far.connection.id])
    assert.equal(await store().syncs.shortenWaits(limits), 0)
  })

  test('the lease of a sync that lies far ahead ends soon, unless its holder renews it', async () => {
    const [dead, alive] = [await addLink(store()), await addLink(store())]
    await claimSync(dead.connection.id, now + 3 * day)
    const claim = await claimSync(alive.connection.id, now + 3 * day)
    assert(claim?.kind === 'claimed')
    assert.equal(await store().syncs.shortenWaits(limits), 2)
    const ids = [dead.connection.id, alive.connection.id]
    assert.deepEqual(await listDue(now + minute - 1, ids), [])
    assert.equal(await store().syncs.renew(claim.sync.runId, now + 2 * minute), true)
    assert.deepEqual(await listDue(now + minute, ids), [dead.connection.id])
  })

  test('a retry is due at once where no wait is so long, and a shorter wait stays', async () => {
    for (const [waitMs, isDue] of [
      [3 * day, true],
      [day, false],
    ] as const) {
      const { user, connection, endpoint, claim } = await stageDelivery()
      const ids = await acceptChunks(store(), user.id, connection.id, 2)
      const { lease } = await claim(now)
      const [first] = await store().deliveries.listDue(endpoint.id, { now, limit: 1 })
      assert(first !== undefined)
      const decision = { kind: 'retry', dueAt: now + waitMs } as const
      await recordAs(store(), lease, first.id, { decision, health: degraded })
      await store().deliveries.release(lease, { now, notBefore: now + waitMs })
      assert.equal(await store().deliveries.shortenWaits(limits), isDue ? 1 : 0)
      assert.equal((await claimEndpoint(store(), endpoint.id, now)) !== null, isDue)
      assert.deepEqual(await dueEvents(store(), endpoint.id), isDue ? [ids[0]] : [])
    }
  })

  test('a delivery that was never attempted is due at once, although a retry might wait so long', async () => {
    const { user, connection, endpoint } = await stageDelivery()
    const [event] = await accept(store(), [
      newEvent(user.id, connection.id, { createdAt: now + hour }),
    ])
    assert.equal(await claimEndpoint(store(), endpoint.id, now), null)
    assert.equal(await store().deliveries.shortenWaits(limits), 1)
    assert.notEqual(await claimEndpoint(store(), endpoint.id, now), null)
    assert.deepEqual(await dueEvents(store(), endpoint.id), [event?.id])
  })

  test('the lease of an endpoint that lies far ahead ends soon, unless its holder renews it', async () => {
    const [dead, alive] = [await stageDelivery(), await stageDelivery()]
    const far = { createdAt: now + 3 * day }
    for (const { user, connection } of [dead, alive]) {
      await accept(store(), [newEvent(user.id, connection.id, far)])
    }
    await dead.claim(now + 3 * day)
    const { lease } = await alive.claim(now + 3 * day)
    assert.ok((await store().deliveries.shortenWaits(limits)) >= 2)
    assert.equal(await claimEndpoint(store(), dead.endpoint.id, now + minute - 1), null)
    assert.equal(await store().deliveries.renew(lease, now + 2 * minute), true)
    assert.notEqual(await claimEndpoint(store(), dead.endpoint.id, now + minute), null)
    assert.equal(await claimEndpoint(store(), alive.endpoint.id, now + minute), null)
  })
}

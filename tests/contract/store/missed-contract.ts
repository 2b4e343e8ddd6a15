/**
 * What the port promises where an endpoint is disabled with more pending deliveries than one transaction
 * changes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointId } from '#kernel/ids.ts'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  disabled,
  dueEvents,
  healthy,
  hour,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, now } from './rows.ts'

/** More than the first batch changes. */
const many = 620

export function testMissed(store: StoreOf): void {
  const deliveries = () => store().deliveries
  const statuses = async (id: EndpointId) => {
    const rows = await deliveries().list(id, { after: null, limit: 1000 })
    assert.ok(rows.every(({ status, dueAt }) => status === 'pending' || dueAt === null))
    return rows.map(({ status }) => status).reverse()
  }

  test('all that was pending is missed at once, and stays so when the endpoint is enabled before its rows followed', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    await acceptChunks(store(), user.id, connection.id, many)
    const { pending } = await deliveries().readBacklog(now)
    const claimed = await claimEndpoint(store(), id)
    const [first] = await deliveries().listDue(id, { now, limit: 9 })
    assert.ok(claimed && first)
    await store().endpoints.setHealth(id, disabled)
    assert.deepEqual(await statuses(id), Array(many).fill('missed'))
    const left = (await deliveries().readBacklog(now)).pending - (pending - many)
    assert.ok(left > 0, 'some rows have not followed')
    assert.deepEqual(await dueEvents(store(), id, now + hour), [])
    await store().endpoints.setHealth(id, healthy)
    assert.equal(await deliveries().findOldest(id), null)
    const decision = { kind: 'retry', dueAt: now + 1 } as const
    assert.equal(await recordAs(store(), claimed.lease, first.id, { decision }), true)
    await deliveries().release(claimed.lease, { now, notBefore: 0 })
    assert.equal(await claimEndpoint(store(), id, now + hour), null)
    // Of the same lane.
    const later = await acceptChunks(store(), user.id, connection.id, 2)
    assert.deepEqual(await dueEvents(store(), id), later.slice(0, 1))
    assert.equal((await deliveries().findOldest(id))?.eventId, later[0])
    assert.deepEqual(await deliverAll(store(), id), later)
    assert.equal(await claimEndpoint(store(), id, now + hour), null)
    const wanted = [...Array(many).fill('missed'), 'succeeded', 'succeeded']
    assert.deepEqual(await statuses(id), wanted)
    let batches = 0
    for (; (await deliveries().missLeft({ limit: 50 })) > 0; batches += 1) assert.ok(batches < 50)
    assert.ok(batches >= left / 50)
    assert.deepEqual(await statuses(id), wanted)
    assert.equal((await deliveries().readBacklog(now)).pending, pending - many)
    assert.equal(await claimEndpoint(store(), id, now + hour), null)
    const last = await acceptChunks(store(), user.id, connection.id, 1)
    assert.deepEqual(await deliverAll(store(), id), last)
  })
  test('ended deliveries are deleted except the newest, and pending ones stay with their order', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const first = await acceptChunks(store(), user.id, connection.id, 30)
    assert.deepEqual(await deliverAll(store(), id), first)
    const later = await acceptChunks(store(), user.id, connection.id, 5)
    await deliveries().deleteEnded(id, 100)
    assert.equal((await statuses(id)).length, 35)
    await deliveries().deleteEnded(id, 10)
    const kept = [...Array(5).fill('succeeded'), ...Array(5).fill('pending')]
    assert.deepEqual(await statuses(id), kept)
    await deliveries().deleteEnded(id, 0)
    assert.deepEqual(await statuses(id), Array(5).fill('pending'))
    assert.deepEqual(await deliverAll(store(), id), later)
  })
}

/** What the port promises of deliveries: one sender for each endpoint, lanes in order, no delivery lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeliveryId, type EndpointId, type EventId, newId } from '#kernel/ids.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import {
  accept,
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  degraded,
  deliverAll,
  disabled,
  dueEvents,
  healthy,
  hour,
  minute,
  newEvent,
  paused,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, newConnection, now } from './rows.ts'

export function testDeliveries(store: StoreOf): void {
  const deliveries = () => store().deliveries
  const stage = async (chunks: number) => {
    const link = await addLink(store())
    const endpoint = await addEndpoint(store(), link.user.id, { secret: 'whsec_one' })
    const ids = await acceptChunks(store(), link.user.id, link.connection.id, chunks)
    return { ...link, endpoint, ids }
  }
  const demandClaim = async (id: EndpointId, at = now) =>
    (await claimEndpoint(store(), id, at)) ?? assert.fail('the endpoint was not claimed')
  const demandDue = async (id: EndpointId, at = now) =>
    (await deliveries().listDue(id, { now: at, limit: 1 }))[0] ?? assert.fail('nothing is due')

  test('an endpoint with something due is claimed with its secrets, by one at a time', async () => {
    const { endpoint } = await stage(1)
    await store().endpoints.rotate(endpoint.id, 'whsec_two', now + hour)
    const claimed = await demandClaim(endpoint.id)
    assert.deepEqual(claimed, {
      lease: claimed.lease,
      leaseUntil: now + minute,
      endpoint,
      secrets: { current: 'whsec_two', previous: { secret: 'whsec_one', until: now + hour } },
    })
    assert.equal(await claimEndpoint(store(), endpoint.id), null)
    assert.equal(await deliveries().renew(claimed.lease, now + hour), true)
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour - 1), null)
    const next = await demandClaim(endpoint.id, now + hour)
    assert.notEqual(next.lease, claimed.lease)
    assert.equal(await deliveries().renew(claimed.lease, now + 2 * hour), false)
  })

  test('nothing is recorded with a lost lease, and releasing it changes nothing', async () => {
    const { endpoint } = await stage(1)
    const lost = await demandClaim(endpoint.id)
    const kept = await demandClaim(endpoint.id, now + minute)
    const due = await demandDue(endpoint.id)
    assert.equal(await recordAs(store(), lost.lease, due.id, { health: paused }), false)
    await deliveries().release(lost.lease, { now, notBefore: now })
    assert.equal((await deliveries().find(due.id))?.attempts.length, 0)
    assert.equal((await store().endpoints.find(endpoint.id))?.health, 'healthy')
    assert.equal(await claimEndpoint(store(), endpoint.id, now + minute), null)
    assert.equal(await recordAs(store(), kept.lease, due.id), true)
  })

  test('only the first delivery of a lane is due; the next follows when it has ended in any way', async () => {
    const { endpoint, ids } = await stage(3)
    const { lease } = await demandClaim(endpoint.id)
    assert.deepEqual(await dueEvents(store(), endpoint.id, now + hour), [ids[0]])
    const first = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now + minute } as const
    await recordAs(store(), lease, first.id, { decision, health: degraded })
    assert.deepEqual(await dueEvents(store(), endpoint.id, now + minute - 1), [])
    const again = await demandDue(endpoint.id, now + minute)
    assert.deepEqual([again.id, again.attempts, again.dueAt], [first.id, 1, now + minute])
    await recordAs(store(), lease, first.id, { decision: { kind: 'exhausted' } })
    assert.deepEqual(await dueEvents(store(), endpoint.id), [ids[1]])
    await recordAs(store(), lease, (await demandDue(endpoint.id)).id)
    assert.deepEqual(await dueEvents(store(), endpoint.id), [ids[2]])
    await recordAs(store(), lease, (await demandDue(endpoint.id)).id)
    await deliveries().release(lease, { now, notBefore: now })
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour), null)
  })

  test('lanes of two connections do not wait for each other', async () => {
    const { user, login, endpoint, ids } = await stage(2)
    const other = await store().connections.save(newConnection(user.id, login.id))
    const more = await acceptChunks(store(), user.id, other.id, 2)
    await demandClaim(endpoint.id)
    assert.deepEqual(await dueEvents(store(), endpoint.id), [ids[0], more[0]])
  })

  test('a delivery created while an endpoint is leased does not make it due, and becomes due after the release', async () => {
    const { user, login, endpoint } = await stage(1)
    const { lease } = await demandClaim(endpoint.id)
    await recordAs(store(), lease, (await demandDue(endpoint.id)).id)
    const other = await store().connections.save(newConnection(user.id, login.id))
    const [late] = await acceptChunks(store(), user.id, other.id, 1)
    assert.equal(await claimEndpoint(store(), endpoint.id), null)
    await deliveries().release(lease, { now, notBefore: now })
    assert.deepEqual(await deliverAll(store(), endpoint.id), [late])
  })

  test('a released endpoint is not due before the given time, whatever is accepted meanwhile', async () => {
    const { user, connection, endpoint, ids } = await stage(2)
    const { lease } = await demandClaim(endpoint.id)
    await recordAs(store(), lease, (await demandDue(endpoint.id)).id)
    await deliveries().release(lease, { now, notBefore: now + hour })
    const [late] = await acceptChunks(store(), user.id, connection.id, 1)
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour - 1), null)
    assert.deepEqual(await deliverAll(store(), endpoint.id, now + hour), [ids[1], late])
  })

  test('unhealthy endpoints are claimed separately from healthy ones', async () => {
    const options = { now, leaseMs: minute, limit: 100 }
    for (const [change, unhealthy] of [
      [healthy, false],
      [degraded, true],
      [paused, true],
    ] as const) {
      const { endpoint } = await stage(1)
      await store().endpoints.setHealth(endpoint.id, change)
      const others = await deliveries().claimEndpoints({ ...options, unhealthy: !unhealthy })
      assert.ok(others.every((one) => one.endpoint.id !== endpoint.id))
      const claimed = await deliveries().claimEndpoints({ ...options, unhealthy })
      assert.ok(claimed.some((one) => one.endpoint.id === endpoint.id))
    }
  })

  test('the oldest pending delivery is found whether due or not, and is never a test', async () => {
    const { user, login, endpoint, ids } = await stage(2)
    const other = await store().connections.save(newConnection(user.id, login.id))
    const [waiting] = await acceptChunks(store(), user.id, other.id, 1)
    const test = newEvent(user.id, null)
    await accept(store(), [test], endpoint.id)
    const { lease } = await demandClaim(endpoint.id)
    const first = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now + hour } as const
    await recordAs(store(), lease, first.id, { decision, health: paused })
    assert.deepEqual(await deliveries().findOldest(endpoint.id), {
      id: first.id,
      eventId: ids[0],
      attempts: 1,
      dueAt: now + hour,
      createdAt: now,
      isReplay: false,
      isTest: false,
    })
    assert.deepEqual(await dueEvents(store(), endpoint.id), [waiting, test.id])
    const tests = await deliveries().listDue(endpoint.id, { now, limit: 10, tests: true })
    assert.deepEqual(
      tests.map(({ eventId, isTest }) => [eventId, isTest]),
      [[test.id, true]],
    )
    await recordAs(store(), lease, first.id, { decision: { kind: 'exhausted' } })
    assert.equal((await deliveries().findOldest(endpoint.id))?.eventId, ids[1])
    assert.equal(await deliveries().findOldest(newId<EndpointId>()), null)
  })

  test('what is due is listed in the order in which it was created', async () => {
    const { user, login, endpoint, ids } = await stage(1)
    const others = []
    for (let count = 0; count < 3; count += 1)
      others.push(await store().connections.save(newConnection(user.id, login.id)))
    const { lease } = await demandClaim(endpoint.id)
    const first = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now + minute } as const
    await recordAs(store(), lease, first.id, { decision, health: degraded })
    const more: EventId[] = []
    for (const { id } of others) more.push(...(await acceptChunks(store(), user.id, id, 1)))
    assert.deepEqual(await dueEvents(store(), endpoint.id, now + minute), [ids[0], ...more])
    const page = await deliveries().listDue(endpoint.id, { now, limit: 2 })
    assert.deepEqual(
      page.map(({ eventId }) => eventId),
      more.slice(0, 2),
    )
  })

  test('a test is due at once, also at an endpoint that demanded a wait, and nothing else is', async () => {
    const { user, endpoint, ids } = await stage(1)
    const { lease } = await demandClaim(endpoint.id)
    await store().endpoints.setHealth(endpoint.id, degraded)
    await deliveries().release(lease, { now, notBefore: now + hour })
    assert.equal(await claimEndpoint(store(), endpoint.id), null)
    const test = newEvent(user.id, null)
    await accept(store(), [test], endpoint.id)
    const claimed = await demandClaim(endpoint.id)
    assert.deepEqual(await dueEvents(store(), endpoint.id), [test.id])
    const due = await demandDue(endpoint.id)
    await recordAs(store(), claimed.lease, due.id, { health: degraded })
    await deliveries().release(claimed.lease, { now, notBefore: 0 })
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour - 1), null)
    assert.deepEqual(await deliverAll(store(), endpoint.id, now + hour), ids)
  })

  test('a wait that was demanded holds although the process ended before it released the endpoint', async () => {
    const { user, login, endpoint, ids } = await stage(1)
    const other = await store().connections.save(newConnection(user.id, login.id))
    const [waiting] = await acceptChunks(store(), user.id, other.id, 1)
    const { lease, leaseUntil } = await demandClaim(endpoint.id)
    const { id } = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now + hour } as const
    await recordAs(store(), lease, id, { decision, holdUntil: now + hour, health: degraded })
    const next = await claimEndpoint(store(), endpoint.id, leaseUntil)
    assert.ok(next)
    await recordAs(store(), next.lease, id, { decision, holdUntil: now + 1, health: degraded })
    assert.deepEqual(await dueEvents(store(), endpoint.id, now + hour - 1), [])
    await deliveries().release(next.lease, { now: leaseUntil, notBefore: 0 })
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour - 1), null)
    assert.deepEqual(await deliverAll(store(), endpoint.id, now + hour), [...ids, waiting])
  })

  test('an endpoint that is healthy again waits no longer', async () => {
    const { user, endpoint, ids } = await stage(1)
    const { lease } = await demandClaim(endpoint.id)
    await store().endpoints.setHealth(endpoint.id, paused)
    await deliveries().release(lease, { now, notBefore: now + hour })
    await accept(store(), [newEvent(user.id, null)], endpoint.id)
    const claimed = await demandClaim(endpoint.id)
    await recordAs(store(), claimed.lease, (await demandDue(endpoint.id)).id, { health: healthy })
    assert.deepEqual(await dueEvents(store(), endpoint.id), ids)
    await deliveries().release(claimed.lease, { now, notBefore: 0 })
    assert.deepEqual(await deliverAll(store(), endpoint.id), ids)
  })

  test('the wait of a degraded endpoint does not outlast that its owner enabled it before the release', async () => {
    const { endpoint, ids } = await stage(1)
    const { lease } = await demandClaim(endpoint.id)
    const { id } = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now } as const
    await recordAs(store(), lease, id, { decision, holdUntil: now + hour, health: degraded })
    await store().endpoints.setHealth(endpoint.id, healthy)
    await deliveries().release(lease, { now, notBefore: now + hour, ofUnhealthy: true })
    assert.deepEqual(await deliverAll(store(), endpoint.id), ids)
  })

  test('deliveries are listed newest first, page by page, with their attempts in order', async () => {
    const { user, endpoint, ids } = await stage(5)
    const { lease } = await demandClaim(endpoint.id)
    const first = await demandDue(endpoint.id)
    const decision = { kind: 'retry', dueAt: now + 1 } as const
    const refused = { status: 500, failure: 'HTTP 500', response: Buffer.from('näh') }
    await recordAs(store(), lease, first.id, { decision, attempt: refused })
    await recordAs(store(), lease, first.id, { attempt: { at: now + 1, status: null } })
    const read: DeliveryRow[] = []
    for (let pages = 0; pages < 3; pages += 1) {
      const after = read.at(-1)?.position ?? null
      read.push(...(await deliveries().list(endpoint.id, { after, limit: 2 })))
    }
    assert.deepEqual(
      read.map(({ eventId }) => eventId),
      ids.toReversed(),
    )
    const plain = { durationMs: 12, failure: null }
    assert.deepEqual(read.at(-1), {
      id: first.id,
      eventId: ids[0],
      endpointId: endpoint.id,
      userId: user.id,
      position: 1,
      status: 'succeeded',
      type: 'transactions.synced',
      isReplay: false,
      isTest: false,
      createdAt: now,
      dueAt: null,
      attempts: [
        { ...plain, at: now, status: 500, failure: 'HTTP 500', response: 'näh' },
        { ...plain, at: now + 1, status: null, response: null },
      ],
    })
    assert.equal(await deliveries().find(newId<DeliveryId>()), null)
  })

  test('a list continues after a row that was deleted meanwhile', async () => {
    const { user, connection, endpoint, ids } = await stage(1)
    const later = newEvent(user.id, connection.id, { createdAt: now + hour })
    await accept(store(), [later])
    await deliverAll(store(), endpoint.id, now + hour)
    const [, first] = await deliveries().list(endpoint.id, { after: null, limit: 2 })
    assert.ok(first)
    assert.equal(first.eventId, ids[0])
    const replay = await deliveries().replay(first.id, now + hour)
    await deliverAll(store(), endpoint.id, now + hour)
    const [last] = await deliveries().list(endpoint.id, { after: null, limit: 1 })
    assert.ok(replay && last?.id === replay)
    await store().events.shred({ acceptedBefore: now + 1, now, limit: 500 })
    await store().events.sweepReceipts({ before: now + 1, limit: 500 })
    assert.equal(await deliveries().find(replay), null)
    const page = { after: last.position, limit: 10 }
    const rest = await deliveries().list(endpoint.id, page)
    assert.deepEqual(
      rest.map(({ eventId }) => eventId),
      [later.id],
    )
    // Nobody's cursor is larger than the column holds.
    assert.deepEqual(await deliveries().list(endpoint.id, { ...page, after: 1e14 }), rest)
  })

  test('R33: a replay is sent at once, before pending deliveries of its lane', async () => {
    const { endpoint, ids } = await stage(2)
    const { lease } = await demandClaim(endpoint.id)
    const first = await demandDue(endpoint.id)
    const replay = await deliveries().replay(first.id, now)
    assert.ok(replay)
    const due = await deliveries().listDue(endpoint.id, { now, limit: 10 })
    assert.deepEqual(
      due.map(({ id, eventId, isReplay }) => [id, eventId, isReplay]),
      [
        [first.id, ids[0], false],
        [replay, ids[0], true],
      ],
    )
    await recordAs(store(), lease, replay)
    assert.deepEqual(await dueEvents(store(), endpoint.id), [ids[0]])
    await deliveries().release(lease, { now, notBefore: now })
    assert.deepEqual(await deliverAll(store(), endpoint.id), ids)
    assert.equal(await deliveries().replay(newId<DeliveryId>(), now), null)
    await store().events.shred({ acceptedBefore: now + 1, now, limit: 500 })
    assert.equal(await deliveries().replay(first.id, now), null)
  })

  test('R33: a range is replayed as a whole or not at all, in order, for the types that the endpoint takes', async () => {
    const { user, connection } = await addLink(store())
    const over = { events: ['transactions.synced'], skipEmpty: true } as const
    const { id } = await addEndpoint(store(), user.id, over)
    const given = [3, 1, 2].map((offset) =>
      newEvent(user.id, connection.id, { createdAt: now + offset }),
    )
    const [third, first, second] = given.map((event) => event.id)
    await accept(store(), given)
    await accept(store(), [
      newEvent(user.id, connection.id, { createdAt: now + 2, type: 'trades.synced' }),
      newEvent(user.id, connection.id, { createdAt: now + 2, isEmpty: true }),
      newEvent(user.id, null, { createdAt: now + 2 }),
    ])
    await store().endpoints.setHealth(id, disabled)
    await store().endpoints.setHealth(id, healthy)
    const at = now + hour
    const range = { from: now + 1, to: now + 3, at, limit: 100 }
    const replay = (over: Partial<typeof range> = {}) =>
      deliveries().replayRange(id, { ...range, ...over })
    assert.deepEqual(await replay(), { replayed: 2, shredded: 0, isTooMany: false })
    assert.deepEqual(await deliverAll(store(), id, at), [first, second])
    assert.deepEqual(await replay({ to: now + 4 }), { replayed: 3, shredded: 0, isTooMany: false })
    assert.deepEqual(await deliverAll(store(), id, at), [first, second, third])
    assert.deepEqual(await replay({ limit: 1 }), { replayed: 0, shredded: 0, isTooMany: true })
    assert.deepEqual(await deliverAll(store(), id, at), [])
    // What is pending counts too.
    assert.deepEqual(await replay({ limit: 3 }), { replayed: 2, shredded: 0, isTooMany: false })
    assert.deepEqual(await replay({ limit: 3 }), { replayed: 0, shredded: 0, isTooMany: true })
    assert.deepEqual(await deliverAll(store(), id, at), [first, second])
    await store().events.shred({ acceptedBefore: now + 2, now, limit: 500 })
    assert.deepEqual(await replay(), { replayed: 0, shredded: 1, isTooMany: false })
    assert.deepEqual(await deliverAll(store(), id, at), [])
    assert.deepEqual(await replay({ from: now + 2 }), {
      replayed: 1,
      shredded: 0,
      isTooMany: false,
    })
    const nobody = await deliveries().replayRange(newId<EndpointId>(), range)
    assert.deepEqual(nobody, { replayed: 0, shredded: 0, isTooMany: false })
  })

  test('the backlog shows what is pending and since when something unleased is due', async () => {
    const far = now - 1000 * hour
    const { user, connection } = await addLink(store())
    const endpoint = await addEndpoint(store(), user.id)
    const before = await deliveries().readBacklog(far)
    assert.equal(before.oldestDueAt, null)
    await accept(store(), [newEvent(user.id, connection.id, { createdAt: far })])
    const due = await deliveries().readBacklog(far)
    assert.deepEqual([due.pending - before.pending, due.oldestDueAt], [1, far])
    const { lease } = await demandClaim(endpoint.id, far)
    assert.equal((await deliveries().readBacklog(far)).oldestDueAt, null)
    await recordAs(store(), lease, (await demandDue(endpoint.id, far)).id)
    await deliveries().release(lease, { now, notBefore: far })
    assert.equal((await deliveries().readBacklog(far)).pending, before.pending)
  })
}

/** What the port promises of accepted events: who gets which, and how their payloads end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EndpointId, type EventId, newId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import {
  accept,
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  disabled,
  dueEvents,
  hour,
  newEvent,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, addUser, now } from './rows.ts'

export function testEvents(store: StoreOf): void {
  const events = () => store().events
  const shredAll = async (acceptedBefore: number) => {
    let count = 0
    for (let done = 1; done > 0; count += done)
      done = await events().shred({ acceptedBefore, now: now + hour, limit: 7 })
    return count
  }
  const statusOf = async (id: EndpointId) =>
    (await store().deliveries.list(id, { after: null, limit: 100 })).map(({ status }) => status)

  test('a body comes back byte for byte, with what its receipt says of it', async () => {
    const { user, connection } = await addLink(store())
    const bodies = [Buffer.alloc(0), Buffer.from('ünïcode'.repeat(9000)), Buffer.from([0, 255, 10])]
    for (const body of bodies) {
      const given = newEvent(user.id, connection.id, { body, chunk: 2, totalChunks: 3 })
      const { body: _body, ...receipt } = given
      await accept(store(), [given])
      assert.deepEqual(Buffer.from((await events().open(given.id)) ?? []), body)
      assert.deepEqual(await events().find(given.id), {
        ...receipt,
        size: body.byteLength,
        shreddedAt: null,
      })
    }
    assert.equal(await events().open(newId<EventId>()), null)
    assert.equal(await events().find(newId<EventId>()), null)
  })

  test('a run with many events yields to the event loop while it is sealed and accepted', async () => {
    const { user, connection } = await addLink(store())
    const taken = new Map<number, number>()
    const turns = countTurns()
    function* chunks() {
      for (let chunk = 1; chunk <= 64; chunk += 1) {
        taken.set(turns.passed, (taken.get(turns.passed) ?? 0) + 1)
        yield newEvent(user.id, connection.id, { chunk, totalChunks: 64 })
      }
    }
    try {
      const sealed = await events().seal(chunks())
      assert.equal(sealed.length, 64)
      assert.ok(Math.max(...taken.values()) <= 16)
      const before = turns.passed
      await store().transact((tx) => tx.events.accept(sealed))
      assert.ok(turns.passed - before >= 3)
    } finally {
      turns.stop()
    }
  })

  test('each endpoint of the user gets what it takes, in order', async () => {
    const { user, connection } = await addLink(store())
    const stranger = await addEndpoint(store(), (await addUser(store())).id)
    const all = await addEndpoint(store(), user.id)
    const trades = await addEndpoint(store(), user.id, { events: ['trades.synced'] })
    const full = await addEndpoint(store(), user.id, { skipEmpty: true })
    const given = [
      newEvent(user.id, connection.id),
      newEvent(user.id, connection.id, { type: 'trades.synced' }),
      newEvent(user.id, connection.id, { isEmpty: true }),
      newEvent(user.id, connection.id, { type: 'trades.synced', isEmpty: true }),
    ]
    const sealed = await events().seal(given)
    assert.equal(await store().transact((tx) => tx.events.accept(sealed)), 4 + 2 + 2)
    const ids = given.map(({ id }) => id)
    assert.deepEqual(await deliverAll(store(), all.id), ids)
    assert.deepEqual(await deliverAll(store(), trades.id), [ids[1], ids[3]])
    assert.deepEqual(await deliverAll(store(), full.id), [ids[0], ids[1]])
    assert.deepEqual(await deliverAll(store(), stranger.id), [])
  })

  test('R39: an event with pending rows goes to who asks for them, its other form to the rest, also again', async () => {
    const { user, connection } = await addLink(store())
    const plain = await addEndpoint(store(), user.id)
    const asking = await addEndpoint(store(), user.id, { pending: true })
    const consumer = { userId: user.id, name: 'default', createdAt: now }
    await store().consumers.create(consumer, { ofSight: 10, inAll: 10 })
    const given = [
      newEvent(user.id, connection.id, { hasPending: false }),
      newEvent(user.id, connection.id, { hasPending: true }),
      newEvent(user.id, connection.id),
    ]
    const [without, having, any] = given.map(({ id }) => id)
    const sealed = await events().seal(given)
    assert.equal(await store().transact((tx) => tx.events.accept(sealed)), 4)
    assert.deepEqual(await deliverAll(store(), plain.id), [without, any])
    assert.deepEqual(await deliverAll(store(), asking.id), [having, any])
    const fed = await store().consumers.listAfter(user.id, 0, 10)
    assert.deepEqual(
      fed.map(({ id, position }) => [id, position]),
      [
        [without, 1],
        [any, 2],
      ],
    )
    const range = { from: now - hour, to: now + hour, at: now, limit: 100 }
    for (const { id } of [plain, asking]) {
      const again = await store().transact((tx) => tx.deliveries.replayRange(id, range))
      assert.equal(again.replayed, 2)
    }
    const rows = await store().endpoints.list(user.id)
    const chosen = new Map(rows.map(({ id, pending }) => [id, pending]))
    assert.deepEqual([chosen.get(plain.id), chosen.get(asking.id)], [false, true])
  })

  test('a test event goes to one endpoint alone, whatever that takes', async () => {
    const { user } = await addLink(store())
    const chosen = await addEndpoint(store(), user.id, {
      events: ['trades.synced'],
      skipEmpty: true,
    })
    const other = await addEndpoint(store(), user.id)
    const event = newEvent(user.id, null, { isEmpty: true })
    const sealed = await events().seal([event])
    assert.equal(await store().transact((tx) => tx.events.accept(sealed, chosen.id)), 1)
    assert.deepEqual(await deliverAll(store(), chosen.id), [event.id])
    assert.deepEqual(await deliverAll(store(), other.id), [])
    const strangers = await addEndpoint(store(), (await addUser(store())).id)
    const again = await events().seal([newEvent(user.id, null)])
    assert.equal(await store().transact((tx) => tx.events.accept(again, strangers.id)), 0)
  })

  test('events accepted for a disabled endpoint are missed, and nothing is due', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    await store().endpoints.setHealth(id, disabled)
    await acceptChunks(store(), user.id, connection.id, 2)
    assert.deepEqual(await statusOf(id), ['missed', 'missed'])
    assert.equal(await claimEndpoint(store(), id, now + hour), null)
  })

  test('what is accepted in a transaction that fails leaves nothing but keys, which are swept', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const sealed = await events().seal([newEvent(user.id, connection.id, { createdAt: 5000 })])
    const broken = store().transact(async (tx) => {
      await tx.events.accept(sealed)
      throw new Error('the test breaks off')
    })
    await assert.rejects(broken, /the test breaks off/)
    assert.equal(await events().find(sealed[0]?.id ?? newId<EventId>()), null)
    assert.deepEqual(await statusOf(id), [])
    assert.equal(await events().sweepKeys({ before: 5000, limit: 10 }), 0)
    assert.equal(await events().sweepKeys({ before: 5001, limit: 10 }), 1)
    assert.equal(await events().sweepKeys({ before: 5001, limit: 10 }), 0)
    await assert.rejects(
      store().transact((tx) => tx.events.accept(sealed)),
      /key was swept before/,
    )
  })

  test('the sweep of keys leaves those of accepted events, however many there are', async () => {
    const { user, connection } = await addLink(store())
    const given = Array.from({ length: 600 }, () =>
      newEvent(user.id, connection.id, { createdAt: 7000 }),
    )
    const sealed = await events().seal(given)
    const kept = sealed.filter((_, index) => index % 10 > 0)
    await store().transact((tx) => tx.events.accept(kept))
    let swept = 0
    for (let count = 1; count > 0; swept += count)
      count = await events().sweepKeys({ before: 7001, limit: 25 })
    assert.equal(swept, 60)
    for (const { id } of kept.slice(0, 5)) assert.notEqual(await events().open(id), null)
  })

  test('R33: a payload is shredded when nothing of it is pending, and its receipt stays', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const chunks = await acceptChunks(store(), user.id, connection.id, 2)
    const [first, second] = chunks
    assert.ok(first && second)
    const claimed = await claimEndpoint(store(), id)
    const [due] = await store().deliveries.listDue(id, { now, limit: 10 })
    assert.ok(claimed && due)
    await recordAs(store(), claimed.lease, due.id, { attempt: { response: Buffer.from('thanks') } })
    assert.equal((await store().deliveries.find(due.id))?.attempts[0]?.response, 'thanks')
    await shredAll(now)
    assert.notEqual(await events().open(first), null, 'accepted later')
    await shredAll(now + 1)
    assert.equal(await events().open(first), null)
    assert.equal((await events().find(first))?.shreddedAt, now + hour)
    assert.equal((await store().deliveries.find(due.id))?.attempts[0]?.response, null)
    assert.equal((await store().deliveries.find(due.id))?.attempts[0]?.status, 200)
    assert.notEqual(await events().open(second), null, 'it is pending')
    assert.equal((await events().find(second))?.shreddedAt, null)
    await store().deliveries.release(claimed.lease, { now, notBefore: now })
    assert.deepEqual(await deliverAll(store(), id), [second])
    assert.equal(await shredAll(now + 1), 1)
    assert.equal(await events().open(second), null)
  })

  test('receipts of shredded events are swept with their deliveries, others stay', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const given = [newEvent(user.id, connection.id), newEvent(user.id, connection.id)]
    await accept(store(), given)
    const [first, second] = given
    assert.ok(first && second)
    const claimed = await claimEndpoint(store(), id)
    const [due] = await store().deliveries.listDue(id, { now, limit: 1 })
    assert.ok(claimed && due)
    await recordAs(store(), claimed.lease, due.id)
    await shredAll(now + 1)
    while ((await events().sweepReceipts({ before: now, limit: 3 })) > 0);
    assert.notEqual(await events().find(first.id), null)
    while ((await events().sweepReceipts({ before: now + 1, limit: 3 })) > 0);
    assert.equal(await events().find(first.id), null)
    assert.equal(await store().deliveries.find(due.id), null)
    assert.notEqual(await events().find(second.id), null)
    assert.deepEqual(await dueEvents(store(), id), [second.id])
  })

  test('removing a connection keeps its accepted events', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const chunks = await acceptChunks(store(), user.id, connection.id, 2)
    await store().connections.delete(connection.id)
    assert.deepEqual(await deliverAll(store(), id), chunks)
  })

  test('deleting a user deletes accepted events, and the sweep deletes their keys', async () => {
    const { user, connection } = await addLink(store())
    await addEndpoint(store(), user.id)
    const event = newEvent(user.id, connection.id, { createdAt: 9000 })
    const [sealed] = await accept(store(), [event])
    const late = await events().seal([newEvent(user.id, connection.id, { createdAt: 9000 })])
    await store().users.disarm(user.id, now)
    await assert.rejects(
      store().transact((tx) => tx.events.accept(late)),
      OwnerGoneError,
    )
    await store().users.delete(user.id)
    assert.equal(await events().find(event.id), null)
    assert.ok(sealed)
    assert.equal(await events().sweepKeys({ before: 9001, limit: 10 }), 2)
  })

  test('events of a user who is being deleted are deleted some at once, and those of others stay', async () => {
    const [mine, theirs] = [await addLink(store()), await addLink(store())]
    await addEndpoint(store(), mine.user.id)
    await acceptChunks(store(), mine.user.id, mine.connection.id, 5)
    const other = await acceptChunks(store(), theirs.user.id, theirs.connection.id, 1)
    await store().users.disarm(mine.user.id, now)
    const counts = []
    for (let turn = 0; turn < 4; turn += 1) counts.push(await events().deleteOf(mine.user.id, 2))
    assert.deepEqual(counts, [2, 2, 1, 0])
    assert.notEqual(await events().find(other[0] ?? assert.fail()), null)
  })

  test('events of several users are never accepted as one', async () => {
    const [mine, theirs] = [await addLink(store()), await addLink(store())]
    const sealed = await events().seal([
      newEvent(mine.user.id, mine.connection.id),
      newEvent(theirs.user.id, theirs.connection.id),
    ])
    await assert.rejects(store().transact((tx) => tx.events.accept(sealed)))
    assert.equal(await store().transact((tx) => tx.events.accept([])), 0)
    const nobody = await events().seal([newEvent(newId<UserId>(), null)])
    await assert.rejects(
      store().transact((tx) => tx.events.accept(nobody)),
      OwnerGoneError,
    )
  })

  test('the backlog counts payloads and their bytes until they are shredded', async () => {
    await shredAll(now + hour)
    const before = await events().readBacklog()
    const { user, connection } = await addLink(store())
    const [sealed] = await accept(store(), [newEvent(user.id, connection.id)])
    const during = await events().readBacklog()
    assert.equal(during.events - before.events, 1)
    assert.equal(during.bytes - before.bytes, sealed?.payload.byteLength)
    await shredAll(now + 1)
    assert.deepEqual(await events().readBacklog(), before)
  })
}

/** Counts the turns of the event loop. */
function countTurns() {
  let passed = 0
  let next = setImmediate(count)
  function count(): void {
    passed += 1
    next = setImmediate(count)
  }
  return {
    get passed() {
      return passed
    },
    stop: () => clearImmediate(next),
  }
}

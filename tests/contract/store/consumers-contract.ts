/** What the port promises of feeds and their consumers (reading R42). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { ConsumerState } from '#store/ports/consumers.ts'
import { accept, addEndpoint, hour, newEvent } from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, addUser, now } from './rows.ts'

export function testConsumers(store: StoreOf): void {
  const consumers = () => store().consumers
  const bounds = { ofSight: 20, inAll: 100 }
  const follow = async (userId: UserId, name = 'books'): Promise<ConsumerState> => {
    const made = await consumers().create({ userId, name, createdAt: now }, bounds)
    if (typeof made === 'string') throw new Error('the user of the test has too many consumers')
    return made
  }
  const emit = async (userId: UserId, connectionId: ConnectionId, count: number) => {
    const events = Array.from({ length: count }, (_, index) =>
      newEvent(userId, connectionId, { chunk: index + 1, totalChunks: count }),
    )
    await accept(store(), events)
    return events.map(({ id }) => id)
  }
  const places = async (userId: UserId, after = 0) =>
    (await consumers().listAfter(userId, after, 100)).map(({ id, position }) => [position, id])

  test('R42: from a user’s first consumer on, each accepted event has the next position', async () => {
    const { user, connection } = await addLink(store())
    await emit(user.id, connection.id, 2)
    assert.equal(await consumers().find(user.id, 'books'), null)
    const { consumer, feed } = await follow(user.id)
    assert.equal(consumer.acknowledged, 0)
    assert.equal(feed.lastPosition, 0)
    assert.deepEqual(await places(user.id), [])
    const ids = [
      ...(await emit(user.id, connection.id, 20)),
      ...(await emit(user.id, connection.id, 1)),
    ]
    assert.deepEqual(
      await places(user.id),
      ids.map((id, index) => [index + 1, id]),
    )
    assert.deepEqual(await places(user.id, 19), [
      [20, ids[19]],
      [21, ids[20]],
    ])
    const found = await consumers().find(user.id, 'books')
    assert.deepEqual(found, { consumer, feed: { ...feed, lastPosition: 21 } })
    assert.deepEqual(await follow(user.id), found)
    const later = await follow(user.id, 'later')
    assert.equal(later.consumer.acknowledged, 21)
  })

  test('R43: consumers are counted with those of the same sight alone', async () => {
    const { user } = await addLink(store())
    const make = (name: string) =>
      consumers().create({ userId: user.id, name, createdAt: now }, { ofSight: 2, inAll: 100 })
    for (const name of ['one', 'two', 'one@a', 'two@a', 'one@b']) {
      assert.notEqual(await make(name), 'too_many', name)
    }
    assert.equal(await make('three'), 'too_many_of_sight')
    assert.equal(await make('three@a'), 'too_many_of_sight')
    assert.equal(typeof (await make('three@b')), 'object')
    assert.equal(typeof (await make('two@a')), 'object')
  })

  test('R43: all sights together have at most as many consumers as their bound, however many begin at once', async () => {
    const { user } = await addLink(store())
    const make = (name: string) =>
      consumers().create({ userId: user.id, name, createdAt: now }, { ofSight: 2, inAll: 5 })
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, at) => make(`c${at % 2}@${Math.floor(at / 2)}`)),
    )
    assert.equal(made.filter((one) => one === 'too_many').length, 5)
    assert.equal(await consumers().count(user.id), 5)
    // Also those who see everything are refused, until one is removed.
    assert.equal(await make('whole'), 'too_many')
    const [first] = await consumers().list(user.id)
    assert.ok(first)
    await consumers().delete(first.id)
    assert.equal(typeof (await make('whole')), 'object')
  })

  test('R42: what waits for a consumer is what is kept behind its place, wherever that is', async () => {
    const { user, connection } = await addLink(store())
    await follow(user.id, 'early')
    await emit(user.id, connection.id, 2)
    await store().events.shred({ acceptedBefore: now + 1, now: now + hour, limit: 500 })
    await follow(user.id, 'behind-destroyed')
    const late = Array.from({ length: 3 }, () =>
      newEvent(user.id, connection.id, { createdAt: now + hour }),
    )
    await accept(store(), late)
    const between = await follow(user.id, 'between')
    await consumers().acknowledge(between.consumer.id, { position: 4, at: now })
    await follow(user.id, 'newest')
    const listed = await consumers().list(user.id)
    assert.deepEqual(
      new Map(listed.map(({ name, waiting }) => [name, waiting])),
      new Map([
        ['early', 3],
        ['behind-destroyed', 3],
        ['between', 0],
        ['newest', 0],
      ]),
    )
  })

  test('R42: test events and events of others are in no feed', async () => {
    const { user, connection } = await addLink(store())
    const endpoint = await addEndpoint(store(), user.id)
    await follow(user.id)
    const other = await addLink(store())
    await follow(other.user.id)
    const sealed = await store().events.seal([newEvent(user.id, null)])
    await store().transact((tx) => tx.events.accept(sealed, endpoint.id))
    await emit(other.user.id, other.connection.id, 1)
    assert.deepEqual(await places(user.id), [])
    await emit(user.id, connection.id, 1)
    assert.deepEqual(
      (await places(user.id)).map(([position]) => position),
      [1],
    )
  })

  test('R42: positions of concurrent runs have no gap and no double', async () => {
    const { user, connection } = await addLink(store())
    await follow(user.id)
    await Promise.all(Array.from({ length: 8 }, () => emit(user.id, connection.id, 5)))
    const positions = (await places(user.id)).map(([position]) => position)
    assert.deepEqual(
      positions,
      Array.from({ length: 40 }, (_, index) => index + 1),
    )
  })

  test('R42: new events of a feed are announced once it can be read, and those of a user without one are not', async () => {
    const { user, connection } = await addLink(store())
    const heard: unknown[] = []
    const stop = store().onFeed(({ userId }) => heard.push(userId))
    await emit(user.id, connection.id, 3)
    assert.deepEqual(heard, [])
    await follow(user.id)
    await emit(user.id, connection.id, 3)
    stop()
    await emit(user.id, connection.id, 1)
    assert.deepEqual(heard, [user.id])
  })

  test('R42: acknowledging never goes back, and each consumer has its own', async () => {
    const { user, connection } = await addLink(store())
    const books = await follow(user.id)
    const other = await follow(user.id, 'other')
    await emit(user.id, connection.id, 5)
    const { id } = books.consumer
    await consumers().acknowledge(id, { position: 4, at: now + hour })
    await consumers().acknowledge(id, { position: 2, at: now + 2 * hour })
    const listed = await consumers().list(user.id)
    assert.deepEqual(
      new Map(
        listed.map(({ name, acknowledged, askedAt, waiting }) => [
          name,
          { acknowledged, askedAt, waiting },
        ]),
      ),
      new Map([
        ['books', { acknowledged: 4, askedAt: now + 2 * hour, waiting: 1 }],
        ['other', { acknowledged: 0, askedAt: now, waiting: 5 }],
      ]),
    )
    assert.deepEqual(await consumers().get(other.consumer.id), other.consumer)
    await consumers().delete(id)
    assert.equal(await consumers().get(id), null)
    assert.equal(await consumers().count(user.id), 1)
  })

  test('R42: a user has at most as many consumers as the limit, however many begin at once', async () => {
    const user = await addUser(store())
    const few = { ofSight: 4, inAll: 100 }
    const begun = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        consumers().create({ userId: user.id, name: `c${index}`, createdAt: now }, few),
      ),
    )
    assert.equal(begun.filter((made) => made === 'too_many_of_sight').length, 2)
    assert.equal(await consumers().count(user.id), 4)
    // Which of them came first is not known.
    const [made] = await consumers().list(user.id)
    const again = { userId: user.id, name: made?.name ?? '', createdAt: now }
    assert.equal(typeof (await consumers().create(again, few)), 'object')
    const nobody = { ...again, userId: newId<UserId>() }
    await assert.rejects(consumers().create(nobody, few), OwnerGoneError)
  })

  test('R42: a destroyed event keeps its place, and the first kept one behind it is found', async () => {
    const { user, connection } = await addLink(store())
    await follow(user.id)
    await emit(user.id, connection.id, 3)
    await store().events.shred({ acceptedBefore: now + 1, now: now + hour, limit: 500 })
    const late = newEvent(user.id, connection.id, { createdAt: now + hour })
    await accept(store(), [late])
    const rows = await consumers().listAfter(user.id, 0, 100)
    assert.deepEqual(
      rows.map(({ position, isKept }) => [position, isKept]),
      [
        [1, false],
        [2, false],
        [3, false],
        [4, true],
      ],
    )
    assert.equal(await consumers().findKept(user.id, 0), 4)
    assert.equal(await consumers().findKept(user.id, 4), null)
    assert.equal((await consumers().list(user.id))[0]?.waiting, 1)
  })

  test('R42: what a consumer has not acknowledged stays until `unreadBefore`', async () => {
    const { user, connection } = await addLink(store())
    const { consumer } = await follow(user.id)
    await emit(user.id, connection.id, 3)
    const kept = async () =>
      (await consumers().listAfter(user.id, 0, 9)).filter(({ isKept }) => isKept).length
    const shred = (unreadBefore: number) =>
      store().events.shred({ acceptedBefore: now + 1, unreadBefore, now, limit: 500 })
    await shred(now)
    assert.equal(await kept(), 3)
    await consumers().acknowledge(consumer.id, { position: 2, at: now })
    await shred(now)
    assert.equal(await kept(), 1)
    await shred(now + 1)
    assert.equal(await kept(), 0)
  })

  test('R42: with the end of a ledger the feed is another one, and its positions go on', async () => {
    const { user, connection } = await addLink(store())
    await store().ledgers.begin(user.id)
    const { feed } = await follow(user.id)
    await emit(user.id, connection.id, 2)
    await store().ledgers.end(user.id)
    const found = await consumers().find(user.id, 'books')
    assert.notEqual(found?.feed.id, feed.id)
    assert.equal(found?.feed.lastPosition, 2)
    await emit(user.id, connection.id, 1)
    assert.deepEqual(
      (await places(user.id, 2)).map(([position]) => position),
      [3],
    )
  })

  test('R42: a feed is renewed once, and its consumers and positions stay', async () => {
    const { user, connection } = await addLink(store())
    const { consumer, feed } = await follow(user.id)
    await emit(user.id, connection.id, 2)
    await Promise.all([1, 2].map(() => consumers().renewFeed(user.id, feed.id)))
    const renewed = await consumers().findFeed(user.id)
    assert.notEqual(renewed?.id, feed.id)
    assert.equal(renewed?.lastPosition, 2)
    await consumers().renewFeed(user.id, feed.id)
    const found = await consumers().find(user.id, 'books')
    assert.deepEqual(found, { consumer, feed: renewed })
  })

  test('R42: feed and consumers go with their user', async () => {
    const { user } = await addLink(store())
    const { consumer } = await follow(user.id)
    await store().users.delete(user.id)
    assert.equal(await consumers().get(consumer.id), null)
    assert.equal(await consumers().find(user.id, 'books'), null)
  })
}

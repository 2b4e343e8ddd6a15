/**
 * Events that are fetched from several processes over one PostgreSQL: order, waking, consumers apart, and no
 * loss when the reader dies between an answer and its acknowledgement (reading R42).
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { defaultTypes } from '#contract/event-query.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { addUser } from '#tests/contract/store/rows.ts'
import { emit } from '#tests/request/list-events/emitted.ts'
import { type EventFollower, makeEventFollower } from '#webhooks/follow-events.ts'
import { makePostgresGround, type PostgresGround } from './postgres-place.ts'

const clock = { now: () => Date.UTC(2026, 10, 21, 2) }
const cursorSecrets = [randomBytes(32)]
const followerOf = (store: Store): EventFollower =>
  makeEventFollower({ store, clock, cursorSecrets, maxWaits: 10_000 })

async function fetchFrom(
  follower: EventFollower,
  userId: UserId,
  { after: from, consumer = 'books', limit = 100 }: FetchOptions = {},
) {
  const query = { consumer, limit, wait: 0, types: [...defaultTypes] }
  const following = await follower.begin(
    { userId },
    from === undefined ? query : { ...query, after: from },
  )
  try {
    const { events, next } = await following.read()
    return { ids: events.map(({ body }) => JSON.parse(String(Buffer.from(body))).id), next }
  } finally {
    following.leave()
  }
}

interface FetchOptions {
  readonly after?: string
  readonly consumer?: string
  readonly limit?: number
}

/** `open`: one more process on the same rows. */
async function promiseOrder(open: () => Promise<Store>): Promise<void> {
  const [writer, reader] = [await open(), await open()]
  const { id: userId } = await addUser(writer)
  const [one, two] = [followerOf(writer), followerOf(reader)]
  await fetchFrom(one, userId)
  await fetchFrom(two, userId, { consumer: 'alerts' })
  await Promise.all(
    Array.from({ length: 40 }, (_, run) => emit(run % 2 === 0 ? writer : reader, userId)),
  )
  const all = await fetchFrom(one, userId, { consumer: 'alerts' })
  assert.equal(new Set(all.ids).size, 40)
  // The reader is killed between an answer and its acknowledgement: whoever goes on gets it again.
  const lost = await fetchFrom(one, userId, { limit: 7 })
  const again = await fetchFrom(two, userId, { limit: 7 })
  assert.deepEqual(again, lost)
  const seen = [...again.ids]
  for (let { next } = again; seen.length < 40; ) {
    const page = await fetchFrom(seen.length % 2 === 0 ? one : two, userId, {
      after: next,
      limit: 7,
    })
    seen.push(...page.ids)
    next = page.next
  }
  assert.deepEqual(seen, all.ids)
  assert.deepEqual((await fetchFrom(two, userId, { consumer: 'alerts' })).ids, all.ids)
  one.close()
  two.close()
}

let ground: PostgresGround
before(async () => {
  ground = await makePostgresGround()
})
after(() => ground.remove())

test('R42: on SQLite events come in one order to each consumer, and none is lost with its reader', async (t) => {
  const place = makeSqlitePlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  await promiseOrder(async () => store)
})

test('R42: over two processes events come in one order to each consumer, and none is lost with its reader', async (t) => {
  const place = await ground.makePlace()
  const stores: Store[] = []
  t.after(() => Promise.all(stores.map((store) => store.close())))
  await promiseOrder(async () => {
    const store = await place.open()
    stores.push(store)
    return store
  })
})

test('R43: two processes at once make no more consumers than all sights of a person may have', async (t) => {
  const place = await ground.makePlace()
  const stores = [await place.open(), await place.open()]
  t.after(() => Promise.all(stores.map((store) => store.close())))
  const [one] = stores
  assert.ok(one)
  const { id: userId } = await addUser(one)
  const made = await Promise.all(
    stores.flatMap(({ consumers }, process) =>
      Array.from({ length: 20 }, (_, at) =>
        consumers.create(
          { userId, name: `c@${process}-${at}`, createdAt: clock.now() },
          { ofSight: 20, inAll: 25 },
        ),
      ),
    ),
  )
  assert.equal(made.filter((outcome) => outcome === 'too_many').length, 15)
  assert.equal(await one.consumers.count(userId), 25)
})

test('R42: an event that another process accepts wakes those who wait, within a tenth of a second', async (t) => {
  const place = await ground.makePlace()
  const [writer, reader] = [await place.open(), await place.open()]
  t.after(() => Promise.all([writer.close(), reader.close()]))
  const follower = followerOf(reader)
  t.after(() => follower.close())
  const users = await Promise.all(Array.from({ length: 20 }, () => addUser(writer)))
  const query = { consumer: 'books', limit: 100, wait: 0 }
  const delays: number[] = []
  for (const { id: userId } of users) {
    const following = await follower.begin({ userId }, query)
    assert.deepEqual((await following.read()).events, [])
    const waiting = following.wait(5000)
    const bodies = await emit(writer, userId)
    const from = performance.now()
    assert.equal(await waiting, 'events')
    const { events } = await following.read()
    delays.push(performance.now() - from)
    assert.deepEqual(
      events.map(({ body }) => String(Buffer.from(body))),
      bodies,
    )
    following.leave()
  }
  const sorted = delays.toSorted((left, right) => left - right)
  assert.ok((sorted[18] ?? 0) < 100, `95th of a hundred: ${sorted[18]} ms`)
})

test('R42: many who read the same events at once get the same batch, which exists once', async (t) => {
  const place = makeSqlitePlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  const follower = followerOf(store)
  t.after(() => follower.close())
  const { id: userId } = await addUser(store)
  const begin = () => follower.begin({ userId }, { consumer: 'books', limit: 100, wait: 0 })
  const many = [await begin(), await begin(), await begin()]
  await Promise.all(many.map((following) => following.wait(0)))
  const bodies = await emit(store, userId)
  await Promise.all(many.map((following) => following.wait(5000)))
  const [one, ...others] = await Promise.all(many.map((following) => following.read()))
  assert.deepEqual(
    one?.events.map(({ body }) => String(Buffer.from(body))),
    bodies,
  )
  for (const other of others) assert.equal(other, one)
  for (const following of many) following.leave()
})

test('R42: beyond the bound of waiting requests the longest wait of who has the most ends', async (t) => {
  const place = makeSqlitePlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  const follower = makeEventFollower({ store, clock, cursorSecrets, maxWaits: 3 })
  const [{ id: greedy }, { id: other }] = [await addUser(store), await addUser(store)]
  const query = { consumer: 'books', limit: 100, wait: 0 }
  const quiet = (await follower.begin({ userId: other }, query)).wait(2000)
  const waits: Promise<string>[] = []
  for (let count = 0; count < 5; count += 1) {
    waits.push((await follower.begin({ userId: greedy }, query)).wait(2000))
  }
  assert.deepEqual(await Promise.all(waits.slice(0, 3)), ['ended', 'ended', 'ended'])
  assert.equal(follower.count(), 3)
  follower.end()
  assert.deepEqual(await Promise.all([quiet, ...waits.slice(3)]), ['ended', 'ended', 'ended'])
  assert.equal(await (await follower.begin({ userId: other }, query)).wait(2000), 'ended')
  follower.close()
})

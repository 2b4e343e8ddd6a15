/** The contract of the port for counted requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import { maxUsageReaders, otherReaders, type UsageRow } from '#store/ports/usage.ts'
import type { StoreOf } from './place.ts'
import { addUser, now } from './rows.ts'

const row = (userId: UserId, over: Partial<UsageRow> = {}): UsageRow => ({
  userId,
  day: 20_000,
  reader: 'key-1',
  door: 'rest',
  operation: 'list_accounts',
  result: 'HIT',
  requests: 1,
  ...over,
})

export function testUsage(store: StoreOf): void {
  test('counts add up by user, day, door, operation and result', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    await store().usage.add([row(user.id, { requests: 2 }), row(other.id, { requests: 7 })])
    await store().usage.add([row(user.id, { requests: 3 }), row(user.id, { result: 'MISS' })])
    const { userId: _, reader: __, ...count } = row(user.id)
    const listed = await store().usage.list(user.id, 20_000)
    assert.deepEqual(
      listed.toSorted((one, two) => (one.result < two.result ? -1 : 1)),
      [
        { ...count, requests: 5 },
        { ...count, result: 'MISS', requests: 1 },
      ],
    )
    assert.deepEqual(await store().usage.list(user.id, 20_001), [])
  })

  test('two writers at once add up exactly', async () => {
    const users = [await addUser(store()), await addUser(store()), await addUser(store())]
    const rows = users.map(({ id }) => row(id))
    const order = [rows, rows.toReversed()]
    await Promise.all(Array.from({ length: 20 }, (_, at) => store().usage.add(order[at % 2] ?? [])))
    for (const { id } of users) {
      assert.deepEqual(
        (await store().usage.list(id, 0)).map(({ requests }) => requests),
        [20],
      )
    }
  })

  test('rows of a user who is gone or being deleted are left out, and the others are added', async () => {
    const [living, leaving] = [await addUser(store()), await addUser(store())]
    await store().users.disarm(leaving.id, now)
    await store().usage.add([row(living.id), row(leaving.id), row(newId<UserId>())])
    assert.equal((await store().usage.list(living.id, 0)).length, 1)
    assert.deepEqual(await store().usage.list(leaving.id, 0), [])
    await store().usage.add([row(newId<UserId>())])
  })

  test('a deletion of the user at the same time breaks no writing, and leaves no row', async () => {
    const [living, leaving] = [await addUser(store()), await addUser(store())]
    await Promise.all([
      store().usage.add([row(living.id), row(leaving.id)]),
      store().users.delete(leaving.id),
      store().usage.add([row(living.id), row(leaving.id)]),
    ])
    assert.deepEqual(
      (await store().usage.list(living.id, 0)).map(({ requests }) => requests),
      [2],
    )
    assert.deepEqual(await store().usage.list(leaving.id, 0), [])
  })

  test('a sweep deletes days before the given one, at most so many rows', async () => {
    const user = await addUser(store())
    const old = [1, 2, 3].map((day) => row(user.id, { day }))
    await store().usage.add([...old, row(user.id, { day: 9 })])
    assert.equal(await store().usage.sweep(9, 2), 2)
    assert.equal(await store().usage.sweep(9, 2), 1)
    assert.equal(await store().usage.sweep(9, 2), 0)
    assert.deepEqual(
      (await store().usage.list(user.id, 0)).map(({ day }) => day),
      [9],
    )
  })

  test('counts add up by key and agent too, and the days have those of all of them', async () => {
    const user = await addUser(store())
    const other = { reader: 'grant:2' }
    await store().usage.add([row(user.id), row(user.id, other), row(user.id, { day: 20_001 })])
    await store().usage.add([row(user.id, { ...other, requests: 4 })])
    const { userId: _, day: __, ...count } = row(user.id)
    const listed = await store().usage.listReaders(user.id, 20_000)
    assert.deepEqual(
      listed.toSorted((one, two) => (one.reader < two.reader ? -1 : 1)),
      [
        { ...count, reader: 'grant:2', requests: 5 },
        { ...count, reader: 'key-1', requests: 2 },
      ],
    )
    assert.deepEqual(
      (await store().usage.list(user.id, 20_000))
        .map(({ day, requests }) => [day, requests])
        .sort(),
      [
        [20_000, 6],
        [20_001, 1],
      ],
    )
    assert.deepEqual(await store().usage.listReaders(user.id, 20_002), [])
  })

  test('beyond so many keys and agents of a day the others are counted together, and nothing is lost', async () => {
    const user = await addUser(store())
    const made = (first: number, count: number) =>
      Array.from({ length: count }, (_, at) => row(user.id, { reader: `key ${first + at}` }))
    await store().usage.add(made(0, maxUsageReaders - 1))
    await store().usage.add(made(0, maxUsageReaders + 9))
    await store().usage.add(made(maxUsageReaders + 9, 3))
    const listed = await store().usage.listReaders(user.id, 0)
    assert.equal(listed.length, maxUsageReaders + 1)
    assert.equal(listed.find(({ reader }) => reader === otherReaders)?.requests, 12)
    const [day] = await store().usage.list(user.id, 0)
    assert.equal(day?.requests, maxUsageReaders - 1 + maxUsageReaders + 9 + 3)
  })
}

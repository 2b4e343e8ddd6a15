/** Reading events from a position of a feed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionId, EventId, FeedId, UserId } from '#kernel/ids.ts'
import type { FeedEventRow } from '#store/ports/consumers.ts'
import { SealError } from '#store/seal.ts'
import { CursorExpired, makeReadEvents } from './read-events.ts'

const feedLength = 12_000
const connectionId = 'c' as string as ConnectionId

/**
 * A feed of events of one kind, but for the last. `lost`: those without a key; `deleted`: what even its
 * receipt is gone of; `damaged`: those that do not open.
 */
function makeFeed(
  lost: readonly number[] = [],
  deleted: readonly number[] = [],
  damaged: readonly number[] = [],
) {
  let queries = 0
  const listAfter = async (_userId: UserId, after: number, limit: number) => {
    queries += 1
    const positions: number[] = []
    for (let at = after + 1; at <= feedLength && positions.length < limit; at += 1)
      if (!deleted.includes(at)) positions.push(at)
    return positions.map((position): FeedEventRow => {
      const type = position === feedLength ? 'trades.synced' : 'transactions.synced'
      return { position, id: `e${position}` as EventId, type, connectionId, size: 2, isKept: true }
    })
  }
  const readBodies = async (ids: readonly EventId[]) =>
    new Map(
      ids
        .filter((id) => !lost.includes(Number(id.slice(1))))
        .map((id) => [id, { open: () => openBody(Number(id.slice(1))) }]),
    )
  const openBody = async (position: number) => {
    if (damaged.includes(position)) throw new SealError('it does not open')
    return Buffer.from('{}')
  }
  const missing = async () => null
  const store = {
    events: { readBodies },
    consumers: {
      listAfter,
      async findKept(userId: UserId, after: number) {
        return (await listAfter(userId, after, 1))[0]?.position ?? null
      },
      findFeed: missing,
    },
  } as unknown as Parameters<typeof makeReadEvents>[0]['store']
  const read = makeReadEvents({ store, version: () => 0 })
  return {
    queries: () => queries,
    read: (position: number, over: Partial<Parameters<typeof read>[0]> = {}) =>
      read({
        userId: 'u' as string as UserId,
        feedId: 'f' as string as FeedId,
        position,
        reached: feedLength,
        types: ['trades.synced'],
        limit: 100,
        sight: { name: '', sees: () => true, narrow: (body) => body },
        ...over,
      }),
  }
}

test('R42: a batch passes over at most 5,000 events of other types, and says that there is more', async () => {
  const feed = makeFeed()
  const first = await feed.read(0)
  assert.deepEqual([first.events, first.position, first.isMore], [[], 5000, true])
  assert.equal(feed.queries(), 20)
  const second = await feed.read(first.position)
  const last = await feed.read(second.position)
  assert.deepEqual(
    [last.events.map(({ position }) => position), last.position, last.isMore],
    [[feedLength], feedLength, false],
  )
})

test('R42: events whose keys were lost with a backup, or that are damaged, are expired at once, up to the first that opens', async () => {
  const every = { types: ['transactions.synced'], limit: 5 } as const
  const readsOn = async (lost: readonly number[], damaged: readonly number[] = []) => {
    const { read } = makeFeed(lost, [], damaged)
    const batch = await read(0, every).catch((error: unknown) => {
      assert.ok(error instanceof CursorExpired)
      return error.oldest
    })
    return typeof batch === 'number' ? batch : batch.events.map(({ position }) => position)
  }
  assert.equal(await readsOn([1, 2, 3]), 3)
  assert.equal(await readsOn([1, 2, 3, 4, 5]), 5)
  assert.deepEqual(await readsOn([3, 4]), [1, 2])
  assert.deepEqual(await readsOn([6]), [1, 2, 3, 4, 5])
  assert.equal(await readsOn([2], [1, 3]), 3)
  assert.equal(await readsOn([1, 2, 3], [4, 5]), 5)
  assert.deepEqual(await readsOn([], [3]), [1, 2])
})

test('R42: events of which even the receipts are deleted are expired, and never passed over', async () => {
  const { read } = makeFeed([], [3, 4])
  const every = { types: ['transactions.synced'], limit: 5 } as const
  const first = await read(0, every)
  assert.deepEqual([first.events.length, first.position, first.isMore], [2, 2, true])
  await assert.rejects(read(2, every), { name: 'CursorExpired', oldest: 4 })
  assert.equal((await read(4, every)).events[0]?.position, 5)
})

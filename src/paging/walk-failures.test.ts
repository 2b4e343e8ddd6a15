/** What a walk keeps of pages that were read before a failure, and how often it yields to other processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { SharedWalks } from '#store/ports/kv.ts'
import { aCall, makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makePageMemory } from './page-memory.ts'
import { makeWalk } from './walk.ts'

const rows = Array.from(
  { length: 12 },
  (_row, index): PagedRow => ({ id: `row ${index}`, time: -index, foreign: false }),
)

function begin(walks: SharedWalks | null) {
  const world = makePagedWorld({ streams: [[...rows]], paging: 'after', pageSize: 4 })
  const walk = makeWalk(world, {
    provider: 'fiskil',
    memory: makePageMemory(1_000_000),
    shared: walks === null ? null : { walks, key: 'walk', now: () => 0 },
    expiresAt: 60_000,
  })
  const read = () =>
    walk.window({ offset: 0, limit: 8, pageCap: null, confirmEnd: async () => {} }, aCall())
  return { world, read }
}

/** The pages that a second window reads after the third page of the first one failed. */
async function readsAfter(failure: UpstreamFailure): Promise<readonly string[]> {
  const { world, read } = begin(null)
  world.onRead = () => {
    if (world.reads.length === 3) throw new UpstreamError('fiskil', failure)
  }
  await assert.rejects(read(), UpstreamError)
  world.reads.length = 0
  world.onRead = () => undefined
  assert.deepEqual(
    (await read()).rows.map(({ row }) => row.id),
    rows.slice(0, 8).map(({ id }) => id),
  )
  return world.reads
}

test('after a refusal nothing of the unfinished read is used again; after a limit of calls all of it is', async () => {
  const detail = 'no'
  const all = ['0:', '0:arow 3', '0:arow 7']
  assert.deepEqual(await readsAfter({ kind: 'rejected', status: 400, detail }), all)
  assert.deepEqual(await readsAfter({ kind: 'unavailable', status: 503, detail }), all)
  const rest = ['0:arow 7']
  assert.deepEqual(await readsAfter({ kind: 'throttled', retryAfterSeconds: 1, detail }), rest)
  assert.deepEqual(await readsAfter({ kind: 'unavailable', status: null, detail }), rest)
})

test('a walk that other processes save first every time fails after a bounded number of attempts', async () => {
  let saves = 0
  const { read } = begin({
    load: async () => ({ kind: 'none' }),
    async save() {
      saves += 1
      return { kind: 'conflict' }
    },
  })
  await assert.rejects(
    read(),
    (error: unknown) => error instanceof UpstreamError && error.failure.kind === 'unavailable',
  )
  assert.equal(saves, 9)
})

test('R17: rows that a restarted walk cannot reach are a refusal, never windows without them', async () => {
  const many = Array.from({ length: 60 }, (_row, index): PagedRow => {
    return { id: `old ${index}`, time: -index, foreign: false }
  })
  const world = makePagedWorld({ streams: [[...many]], paging: 'after', pageSize: 4 })
  const memory = makePageMemory(1_000_000)
  const options = { memory, shared: null, expiresAt: 60_000 } as const
  const walk = makeWalk(world, { provider: 'fiskil', ...options })
  const read = (offset: number) =>
    walk.window({ offset, limit: 4, pageCap: 1, confirmEnd: async () => {} }, aCall())
  for (let offset = 0; offset < 20; offset += 4) await read(offset)
  // More than a restarted chain may read beyond the pages that were known.
  const arrived = Array.from({ length: 48 }, (_row, index): PagedRow => {
    return { id: `new ${index}`, time: 1, foreign: false }
  })
  world.streams[0]?.unshift(...arrived)
  const before = world.reads.length
  world.onRead = () => {
    const failure = { kind: 'unavailable', status: 503, detail: 'no' } as const
    if (world.reads.length === before + 1) throw new UpstreamError('fiskil', failure)
  }
  await assert.rejects(
    read(16),
    (error: unknown) => error instanceof UpstreamError && error.failure.kind === 'malformed',
  )
  assert.deepEqual(
    (await read(16)).rows.map(({ row }) => row.id),
    many.slice(16, 20).map(({ id }) => id),
  )
})

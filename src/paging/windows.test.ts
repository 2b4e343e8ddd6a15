/**
 * Windows that continue what was shown, or are refused: the faults that lost rows in earlier designs, each by
 * name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#contract/errors.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import { makePagedWorld, makeSharedMemory } from '#tests/support/paged.ts'
import { makeRows, makeStage, ttlMs } from '#tests/support/windows.ts'

const idsOf = (from: number, to: number) =>
  makeRows(to)
    .slice(from)
    .map(({ id }) => id)

const isRefusal = (error: unknown) =>
  error instanceof ApiError &&
  error.status === 503 &&
  error.code === null &&
  error.retryAfterSeconds === 1 &&
  error.message === 'the list changed while it was read: start again at offset 0'

const outage: UpstreamFailure = { kind: 'unavailable', status: 503, detail: 'no' }
const limit: UpstreamFailure = { kind: 'throttled', retryAfterSeconds: 1, detail: 'no' }

function makeWorld(count: number, paging: 'after' | 'number' = 'after', pageSize = 4) {
  const world = makePagedWorld({ streams: [makeRows(count)], paging, pageSize })
  const rows = world.streams[0] ?? []
  return { world, rows }
}

test('R17 to R19: a walk origin again twice (503, 429, well) shows every row of each window', async () => {
  const { world, rows } = makeWorld(40)
  const stage = makeStage(world, { pageCap: 2 })
  const process = stage.open()
  for (let offset = 0; offset < 20; offset += 4) await stage.ids(process, offset, 4)
  rows.unshift({ id: 'new', time: 1, foreign: false })
  for (const failures of [[outage, limit], [outage]]) {
    const rest = [...failures]
    world.onRead = () => {
      const failure = rest.shift()
      if (failure !== undefined) throw new UpstreamError('fiskil', failure)
    }
    await stage.ids(process, 36, 4).catch((error) => assert(error instanceof UpstreamError))
  }
  for (const offset of [16, 20, 8, 36]) {
    assert.deepEqual(await stage.ids(process, offset, 4), idsOf(offset, offset + 4))
  }
})

test('R18: a removal and a late, older row that keep the total of numbered pages hide no row', async () => {
  const { world, rows } = makeWorld(12, 'number')
  const stage = makeStage(world)
  let asked = 0
  world.onRead = () => {
    asked += 1
    // Between the first page and the second.
    if (asked !== 2) return
    rows.splice(1, 1)
    rows.splice(8, 0, { id: 'late', time: -8, foreign: false })
  }
  const shown = await stage.ids(stage.open(), 0, 20)
  const throughout = idsOf(0, 12).filter((id) => id !== 'r 1')
  assert.deepEqual(
    shown.filter((id) => id !== 'late'),
    throughout,
  )
})

test('R18: numbered pages that never agree are 503 after four readings, and nothing is held', async () => {
  const { world, rows } = makeWorld(12, 'number')
  const stage = makeStage(world)
  world.onRead = (cursor) => {
    if (cursor !== null) rows.shift()
  }
  await assert.rejects(
    stage.ids(stage.open(), 0, 20),
    (error) => error instanceof UpstreamError && error.failure.kind === 'malformed',
  )
  assert.equal(world.reads.filter((read) => read === '0:').length, 4)
  assert.equal(stage.doubts, 1)
})

test('R18: a row that arrives behind the last page read shows at the second look at the first page', async () => {
  const { world, rows } = makeWorld(6, 'number')
  const stage = makeStage(world)
  let asked = 0
  world.onRead = () => {
    asked += 1
    if (asked === 3) rows.unshift({ id: 'new', time: 1, foreign: false })
  }
  assert.deepEqual(await stage.ids(stage.open(), 0, 20), ['new', ...idsOf(0, 6)])
})

for (const paging of ['after', 'number'] as const) {
  test(`R18: with Redis emptied between two windows the process that has the snapshot goes on (${paging})`, async () => {
    const { world, rows } = makeWorld(20, paging)
    const stage = makeStage(world)
    const shared = makeSharedMemory()
    const [one, two] = [stage.open({ shared }), stage.open({ shared })]
    await stage.ids(one, 0, 5)
    shared.clear()
    rows.splice(2, 1)
    const before = world.reads.length
    assert.deepEqual(await stage.ids(one, 5, 5), idsOf(5, 10))
    assert.equal(world.reads.length, before)
    // It is shared again.
    assert.deepEqual(await stage.ids(two, 10, 5), idsOf(10, 15))
    assert.equal(world.reads.length, before)
  })
}

test('R18: with the pages lost and the anchor kept, a walk goes on from its first row', async () => {
  const { world, rows } = makeWorld(20)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 5)
  stage.epoch += 1
  rows.unshift({ id: 'new', time: 1, foreign: false })
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(5, 10))
  // A walk that begins sees the row that arrived, and the other one is told where it cannot go on.
  assert.deepEqual(await stage.ids(process, 0, 3), ['new', ...idsOf(0, 2)])
  await assert.rejects(stage.ids(process, 10, 5), isRefusal)
})

test('R17, R21: where a shown row has gone, every later window is refused until offset 0 is asked', async () => {
  for (const removed of [0, 3]) {
    const { world, rows } = makeWorld(20)
    const stage = makeStage(world)
    const process = stage.open()
    await stage.ids(process, 0, 5)
    stage.epoch += 1
    rows.splice(removed, 1)
    await assert.rejects(stage.ids(process, 5, 5), isRefusal)
    const reads = world.reads.length
    await assert.rejects(stage.ids(process, 10, 5), isRefusal)
    assert.equal(world.reads.length, reads, 'the provider is not asked again')
    const left = idsOf(0, 20).filter((_id, index) => index !== removed)
    const seen = [...(await stage.ids(process, 0, 7)), ...(await stage.ids(process, 7, 20))]
    assert.deepEqual(seen, left)
  }
})

test('R17: a refusal ends with the life of the anchor', async () => {
  const { world, rows } = makeWorld(20)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 5)
  stage.epoch += 1
  rows.shift()
  await assert.rejects(stage.ids(process, 5, 5), isRefusal)
  stage.now += ttlMs + 30 * 60_000
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(6, 11))
})

test('R10: a change of the time zone or of the accounts ends a walk with a refusal', async () => {
  const { world } = makeWorld(20)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 5)
  stage.epoch += 1
  stage.zoneAndAccounts = 'other'
  await assert.rejects(stage.ids(process, 5, 5), isRefusal)
  assert.deepEqual(await stage.ids(process, 0, 5), idsOf(0, 5))
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(5, 10))
})

test('R10, R18: of two windows that are read at once, in two epochs and from other rows, one is refused', async () => {
  const { world, rows } = makeWorld(40)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 10)
  rows.splice(15, 1)
  const early = stage.ids(process, 10, 10)
  stage.epoch += 1
  const late = stage.ids(process, 20, 10)
  const [one, other] = await Promise.allSettled([early, late])
  const refused = [one, other].filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 1)
  assert(refused.every((result) => 'reason' in result && isRefusal(result.reason)))
})

test('R10: a late window of an earlier generation does not refuse the readers of the present one', async () => {
  const { world, rows } = makeWorld(40)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 10)
  rows.unshift({ id: 'new', time: 1, foreign: false })
  stage.epoch += 1
  stage.now += 1
  for (const offset of [0, 10, 20]) await stage.ids(process, offset, 10)
  stage.epoch -= 1
  assert.equal((await stage.ids(process, 5, 13))[0], 'r 5')
  stage.epoch += 1
  assert.equal((await stage.ids(process, 20, 10))[0], 'r 19')
})

test('R18: a window that would end where a reader of a later generation stands with other rows is refused', async () => {
  const { world, rows } = makeWorld(40)
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 9)
  rows.unshift({ id: 'new', time: 1, foreign: false })
  stage.epoch += 1
  stage.now += 1
  for (const offset of [0, 10]) await stage.ids(process, offset, 10)
  stage.epoch -= 1
  // At 20 both would ask the same, and one of them would see a row twice.
  await assert.rejects(stage.ids(process, 9, 11), /the list changed/)
  assert.equal((await stage.ids(process, 9, 10))[0], 'r 9')
  stage.epoch += 1
  assert.equal((await stage.ids(process, 20, 10))[0], 'r 19')
})

test('R18: two readers with other limits, on two processes, read each page once', async () => {
  for (const paging of ['after', 'number'] as const) {
    const { world } = makeWorld(60, paging)
    const stage = makeStage(world, { pageCap: 3 })
    const shared = makeSharedMemory()
    const processes = [stage.open({ shared }), stage.open({ shared })]
    const readers = [
      { seen: [] as string[], limit: 7 },
      { seen: [] as string[], limit: 4 },
    ]
    for (let round = 0; round < 200; round += 1) {
      for (const [index, reader] of readers.entries()) {
        const process = processes[(round + index) % 2]
        if (process === undefined || reader.seen.length >= 60) continue
        reader.seen.push(...(await stage.ids(process, reader.seen.length, reader.limit)))
      }
    }
    for (const { seen } of readers) assert.deepEqual(seen, idsOf(0, 60))
    const pages = world.reads.filter((read) => read !== '0:')
    assert.equal(new Set(pages).size, pages.length)
  }
})

test('R19: an expired cursor begins the walk anew once, and a provider that stays away is asked no more', async () => {
  const { world } = makeWorld(40)
  const stage = makeStage(world, { pageCap: 2 })
  const process = stage.open()
  await stage.ids(process, 0, 4)
  let refused = 0
  world.onRead = (cursor) => {
    if (cursor === null || refused > 0) return
    refused += 1
    throw new UpstreamError('fiskil', { kind: 'rejected', status: 400, detail: 'no such cursor' })
  }
  assert.deepEqual(await stage.ids(process, 4, 4), idsOf(4, 8))
  assert.equal(world.reads.filter((read) => read === '0:').length, 2)
  world.reads.length = 0
  world.onRead = () => {
    throw new UpstreamError('fiskil', outage)
  }
  await assert.rejects(stage.ids(process, 20, 4), UpstreamError)
  assert.equal(world.reads.length, 1, 'the next page: its cursor was read just now')
  stage.now += 60_000
  world.reads.length = 0
  await assert.rejects(stage.ids(process, 20, 4), UpstreamError)
  assert.equal(world.reads.length, 2, 'the next page, then the first one')
})

test('R20b: a page that is announced and comes empty is doubted before it counts', async () => {
  const { world, rows } = makeWorld(8)
  const stage = makeStage(world)
  const process = stage.open()
  const lost = new UpstreamError('fiskil', { kind: 'rejected', status: 403, detail: 'gone' })
  stage.confirm = async () => {
    throw lost
  }
  // The consent dies between two pages.
  world.onRead = (cursor) => {
    if (cursor !== null) rows.splice(0)
  }
  await assert.rejects(stage.ids(process, 0, 20), (error) => error === lost)
  world.onRead = () => undefined
  rows.push(...makeRows(8))
  assert.deepEqual(await stage.ids(process, 0, 20), idsOf(0, 8))
  assert.equal(stage.doubts, 1)
})

test('R20c: what was read before a failure stays, and the next request asks for the failed page first', async () => {
  const { world } = makeWorld(12)
  const stage = makeStage(world)
  const process = stage.open()
  world.onRead = () => {
    if (world.reads.length === 3) throw new UpstreamError('fiskil', limit)
  }
  await assert.rejects(stage.ids(process, 0, 8), UpstreamError)
  world.reads.length = 0
  assert.deepEqual(await stage.ids(process, 0, 8), idsOf(0, 8))
  assert.deepEqual(world.reads, ['0:a-7 r 7'])
})

test('R17: pages up to the rows that were shown count towards no cap', async () => {
  const { world } = makeWorld(60)
  const stage = makeStage(world, { pageCap: 1 })
  const process = stage.open()
  for (let offset = 0; offset < 40; offset += 4) await stage.ids(process, offset, 4)
  stage.epoch += 1
  assert.deepEqual(await stage.ids(process, 40, 4), idsOf(40, 44))
})

test('R19: a window behind the last row is not cached, since a longer list may have rows there', async () => {
  const { world } = makeWorld(6)
  const stage = makeStage(world)
  const process = stage.open()
  assert.equal((await stage.window(process, 4, 4)).staleAt, stage.now + ttlMs)
  assert.equal((await stage.window(process, 8, 4)).staleAt, 0)
})

test('a process that is never first to save fails after a bounded number of attempts', async () => {
  const { world } = makeWorld(12)
  const stage = makeStage(world)
  const shared = makeSharedMemory()
  let saves = 0
  const process = stage.open({
    shared: {
      ...shared,
      snapshots: {
        load: async () => ({ kind: 'none' }),
        async save() {
          saves += 1
          return { kind: 'conflict' }
        },
      },
    },
  })
  await assert.rejects(
    stage.ids(process, 0, 4),
    (error) => error instanceof UpstreamError && error.failure.kind === 'unavailable',
  )
  assert.equal(saves, 9)
})

test('R23: a page with rows that came before is asked to report those that differ, and no other page is', async () => {
  const { world, rows } = makeWorld(12)
  const stage = makeStage(world)
  await stage.ids(stage.open(), 0, 20)
  assert.equal(world.repeatedPages, 0)
  rows.splice(6, 0, { id: 'r 5', time: -5, foreign: false })
  assert.deepEqual(await stage.ids(stage.open(), 0, 20), idsOf(0, 12))
  assert.equal(world.repeatedPages, 1)
})

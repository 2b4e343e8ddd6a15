/**
 * What is held, counted, marked and read again: promises that a mutant of the room once broke without a test
 * to say so.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import type { DataAge } from '#providers/port.ts'
import {
  makePagedWorld,
  makeSharedMemory,
  type PagedRow,
  type Paging,
} from '#tests/support/paged.ts'
import { makeRows, makeStage, ttlMs } from '#tests/support/windows.ts'

const idsOf = (from: number, to: number) =>
  makeRows(to)
    .slice(from)
    .map(({ id }) => id)
const isRefusal = (error: unknown) =>
  error instanceof Error && /the list changed/.test(error.message)
const arrival = (id: string): PagedRow => ({ id, time: 1, foreign: false })
const outage = new UpstreamError('fiskil', { kind: 'unavailable', status: 503, detail: '' })
const limit = new UpstreamError('fiskil', { kind: 'throttled', retryAfterSeconds: 1, detail: '' })

function makeScene(
  count: number,
  options: { paging?: Paging; pageSize?: number; cap?: number } = {},
) {
  const { paging = 'after', pageSize = 4, cap } = options
  const world = makePagedWorld({ streams: [makeRows(count)], paging, pageSize })
  const rows = world.streams[0] ?? []
  const stage = makeStage(world, cap === undefined ? {} : { pageCap: cap })
  return { world, rows, stage, process: stage.open() }
}

test('R19: requests of one query at the same time read each page once', async () => {
  const { world, stage, process } = makeScene(40, { cap: 2 })
  const first = stage.ids(process, 0, 8)
  const second = stage.ids(process, 8, 8)
  assert.deepEqual(await first, idsOf(0, 8))
  const third = stage.ids(process, 16, 8)
  assert.deepEqual([await second, await third], [idsOf(8, 16), idsOf(16, 24)])
  assert.equal(new Set(world.reads).size, world.reads.length)
})

test('R18: of two processes that read at the same time one uses the pages of the other', async () => {
  const { world, rows, stage } = makeScene(12)
  const shared = makeSharedMemory()
  const [one, two] = [stage.open({ shared }), stage.open({ shared })]
  assert.deepEqual(await Promise.all([stage.ids(one, 0, 4), stage.ids(two, 0, 5)]), [
    idsOf(0, 4),
    idsOf(0, 5),
  ])
  assert.equal(world.reads.length, 2 * 3, 'each read its pages once')
  rows.splice(0, 2)
  assert.deepEqual(await stage.ids(one, 4, 4), idsOf(4, 8))
  assert.deepEqual(await stage.ids(two, 5, 4), idsOf(5, 9))
  // Both marked their windows, though one of them was second.
  stage.epoch += 1
  await assert.rejects(stage.ids(stage.open({ shared }), 5, 4), isRefusal)
})

test('R17: the page cap is exact, and pages up to the window that were shown are all that it leaves out', async () => {
  const { world, stage, process } = makeScene(60, { cap: 2 })
  const first = await stage.window(process, 0, 4)
  assert.deepEqual([first.seen, first.complete, world.reads.length], [8, false, 2])
  for (let offset = 4; offset < 40; offset += 4) await stage.ids(process, offset, 4)
  stage.epoch += 1
  world.reads.length = 0
  assert.deepEqual(await stage.ids(process, 8, 4), idsOf(8, 12))
  assert.equal(world.reads.length, 4)
})

test('a request stops after 2,000 pages where a provider never ends', async () => {
  const { world, stage, process } = makeScene(1)
  let asked = 0
  const page = await world.reader.read(world.queries[0] ?? assert.fail(), null, {} as never)
  Object.assign(world.reader, {
    async read() {
      asked += 1
      return { ...page, length: 0, next: `c${asked}` }
    },
  })
  const window = await stage.window(process, 0, 4)
  assert.deepEqual([asked, window.rows.length, window.complete], [2000, 0, false])
})

test('pages of more than 128 MiB in one request are an unreadable answer', async () => {
  const { world, stage, process } = makeScene(12)
  const { read } = world.reader
  const body = new Uint8Array(50 * 1024 * 1024)
  Object.assign(world.reader, {
    read: async (...given: Parameters<typeof read>) => ({ ...(await read(...given)), body }),
  })
  await assert.rejects(stage.ids(process, 0, 4), /too large/)
})

test('pages in a long cycle are an unreadable answer', async () => {
  const { world, stage, process } = makeScene(12)
  const { read } = world.reader
  Object.assign(world.reader, {
    async read(...given: Parameters<typeof read>) {
      const page = await read(...given)
      return page.next === null ? { ...page, next: 'a-3 r 3' } : page
    },
  })
  await assert.rejects(stage.ids(process, 0, 4), /the pages form a cycle/)
  assert.equal(world.reads.length, 3)
})

test('R17: a list that fails fails the request, whatever the other lists say', async () => {
  for (const failing of [0, 1]) {
    const streams = [makeRows(9, 'a'), makeRows(9, 'b')]
    const world = makePagedWorld({ streams, paging: 'after', pageSize: 4 })
    const stage = makeStage(world)
    world.onRead = () => {
      if (world.reads.at(-1)?.startsWith(`${failing}:`)) throw limit
    }
    await assert.rejects(stage.ids(stage.open(), 0, 4), UpstreamError)
  }
})

test('R16: rows of one time keep the order of their lists', async () => {
  const at = (prefix: string) => makeRows(3, prefix).map((row) => ({ ...row, time: 5 }))
  const streams = [at('a'), at('b')]
  const stage = makeStage(makePagedWorld({ streams, paging: 'after', pageSize: 2 }))
  assert.deepEqual(
    await stage.ids(stage.open(), 0, 9),
    streams.flat().map(({ id }) => id),
  )
})

test('R16: rows outside of the days are not shown, and an end that is now does not move during a walk', async () => {
  const { world, rows, stage, process } = makeScene(20)
  const window = { from: -14, to: -2 }
  for (const query of world.queries) Object.assign(query, { window })
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(2, 6))
  for (const query of world.queries) Object.assign(query, { window: { from: -16, to: 9 } })
  rows.splice(8, 0, arrival('of a later day'))
  stage.epoch += 1
  assert.deepEqual(await stage.ids(process, 4, 20), idsOf(6, 15))
})

test('a row that is twice on one page is shown once', async () => {
  const { rows, stage, process } = makeScene(6, { pageSize: 9 })
  rows.splice(3, 0, rows[1] ?? assert.fail())
  assert.deepEqual(await stage.ids(process, 0, 9), idsOf(0, 6))
})

test('R18: numbered pages with fewer or more rows than their total are not the whole list', async () => {
  for (const [total, isShort] of [
    [13, false],
    [11, false],
    [3, true],
  ] as const) {
    const { world, stage, process } = makeScene(12, { paging: 'number' })
    const { read } = world.reader
    Object.assign(world.reader, {
      async read(...given: Parameters<typeof read>) {
        const page = await read(...given)
        // An adapter asks for nothing beyond the total.
        return { ...page, total, ...(isShort ? { next: null, ahead: [] } : {}) }
      },
    })
    await assert.rejects(stage.ids(process, 0, 20), /rows moved/)
  }
})

test('R18: the second look sees rows that arrived above or inside the first page with the same total, and another total', async () => {
  for (const place of [0, 2, null]) {
    const { world, rows, stage, process } = makeScene(12, { paging: 'number' })
    let asked = 0
    world.onRead = () => {
      asked += 1
      if (asked !== 5) return
      rows.splice(11, 1)
      if (place !== null) rows.splice(place, 0, { id: 'new', time: -place, foreign: false })
    }
    const shown = await stage.ids(process, 0, 20)
    assert.deepEqual(
      shown,
      rows.map(({ id }) => id),
    )
    assert(asked > 5, 'everything was read again')
  }
})

test('R18: nothing is held of numbered pages that never agreed', async () => {
  for (const cap of [undefined, 2]) {
    const { world, rows, stage, process } = makeScene(12, {
      paging: 'number',
      ...(cap === undefined ? {} : { cap }),
    })
    if (cap !== undefined) await stage.ids(process, 0, 4)
    let moves = 0
    world.onRead = (cursor) => {
      if (cursor !== null) return
      moves += 1
      rows.unshift(arrival(`new ${moves}`))
      rows.splice(-1, 1)
    }
    await assert.rejects(stage.ids(process, cap === undefined ? 0 : 6, 20), UpstreamError)
    world.onRead = () => undefined
    const shown = await stage.ids(process, cap === undefined ? 0 : 6, 20)
    const gone = [...idsOf(0, 12)].filter((id) => !rows.some((row) => row.id === id))
    assert.deepEqual(
      shown.filter((id) => gone.includes(id)),
      [],
    )
  }
})

test('R19: what is held stays while later pages fail, also when the first ones are read again', async () => {
  const { world, rows, stage, process } = makeScene(100, { cap: 4 })
  for (let offset = 0; offset < 12; offset += 4) await stage.ids(process, offset, 4)
  const failures = [outage, null, limit]
  world.onRead = () => {
    const failure = failures.shift()
    if (failure !== undefined && failure !== null) throw failure
  }
  stage.now += 60_000
  await assert.rejects(stage.ids(process, 24, 4), UpstreamError)
  assert.equal(failures.length, 0)
  rows.splice(1, 1)
  assert.deepEqual(await stage.ids(process, 4, 4), idsOf(4, 8))
})

test('R20c: one page that was read before a failure stays', async () => {
  const { world, stage, process } = makeScene(12)
  world.onRead = () => {
    if (world.reads.length === 2) throw limit
  }
  await assert.rejects(stage.ids(process, 0, 8), UpstreamError)
  world.onRead = () => undefined
  world.reads.length = 0
  assert.deepEqual(await stage.ids(process, 0, 8), idsOf(0, 8))
  assert.equal(world.reads[0], '0:a-3 r 3')
})

test('R19: one window of a one-page list leaves nothing; any other list is held', async () => {
  for (const [count, limits, reads] of [
    [4, [4, 4], 2],
    [4, [2, 4], 1],
    [8, [8, 3], 2],
  ] as const) {
    const { world, stage, process } = makeScene(count)
    for (const one of limits) assert.deepEqual(await stage.ids(process, 0, one), idsOf(0, one))
    assert.equal(world.reads.length, reads)
  }
  const { world, stage, process } = makeScene(12, { cap: 1 })
  await stage.ids(process, 0, 4)
  await stage.ids(process, 4, 4)
  assert.deepEqual(world.reads, ['0:', '0:a-3 r 3'])
})

test('R19: an answer is as old as its generation, and is not kept when that is of another epoch', async () => {
  const { stage, process } = makeScene(12)
  const { now } = stage
  assert.equal((await stage.window(process, 0, 4)).staleAt, now + ttlMs)
  stage.now += 1000
  assert.equal((await stage.window(process, 4, 4)).staleAt, now + ttlMs)
  stage.epoch += 1
  assert.equal((await stage.window(process, 4, 4)).staleAt, 0)
})

test('a walk is not answered from what a process read before the walk began, though the rows before the window are the same', async () => {
  const { rows, stage } = makeScene(20)
  const shared = makeSharedMemory()
  const [one, two] = [stage.open({ shared }), stage.open({ shared })]
  await stage.ids(one, 0, 4)
  stage.epoch += 1
  // The former walk goes on in the new epoch: this process now holds rows of the former generation.
  assert.deepEqual(await stage.ids(one, 4, 4), idsOf(4, 8))
  rows.splice(14, 0, { id: 'late', time: -13.5, foreign: false })
  const walked = await stage.ids(two, 0, 4)
  // Redis lets the second walk's pages go, and keeps its anchor.
  while (shared.evict(() => 0));
  for (const process of [one, one, two, one, two]) {
    walked.push(...(await stage.ids(process, walked.length, 4)))
  }
  assert.deepEqual(
    walked,
    rows.map(({ id }) => id),
  )
})

test('what a process read while Redis was away does not meet cached windows from before', async () => {
  const { rows, stage } = makeScene(20)
  const shared = makeSharedMemory()
  const [one, two] = [stage.open({ shared }), stage.open({ shared })]
  assert.deepEqual(await stage.ids(one, 0, 8), idsOf(0, 8))
  assert.deepEqual(await stage.ids(one, 8, 12), idsOf(8, 20))
  rows.unshift(arrival('first'))
  rows.splice(5, 0, { id: 'late', time: -3.5, foreign: false })
  Object.assign(shared, { isDown: true, isAnchorDown: true })
  assert.deepEqual((await stage.ids(two, 0, 8)).slice(0, 2), ['first', 'r 0'])
  Object.assign(shared, { isDown: false, isAnchorDown: false })
  while (shared.evict(() => 0));
  // Windows of the first generation may be cached: they end with the epoch.
  const { epoch } = stage
  assert.deepEqual((await stage.ids(two, 0, 8)).slice(0, 2), ['first', 'r 0'])
  assert.equal(stage.epoch, epoch + 1)
})

for (const isShared of [false, true]) {
  test(`R36: no window lives longer than the oldest data of it, ${isShared ? 'shared' : 'in one process'}`, async () => {
    const { world, stage } = makeScene(12)
    const { reader } = world
    let age: DataAge = { asOf: stage.now - 3000, goodUntil: stage.now + 2000 }
    const aged = {
      ...reader,
      read: async (...asked: Parameters<typeof reader.read>) => ({
        ...(await reader.read(...asked)),
        age,
      }),
    }
    const old = makeStage({ ...world, reader: aged })
    const shared = isShared ? makeSharedMemory() : undefined
    const open = () => old.open(shared === undefined ? {} : { shared })
    const first = await old.window(open(), 0, 3)
    assert.deepEqual([first.asOf, first.staleAt], [age.asOf, age.goodUntil])
    const process = open()
    await old.window(process, 0, 3)
    const reads = world.reads.length
    age = { asOf: old.now + 1000, goodUntil: old.now + 9000 }
    assert.equal((await old.window(process, 3, 6)).asOf, old.now - 3000)
    old.now += 2000
    const later = await old.window(process, 0, 3)
    assert.ok(world.reads.length > reads)
    assert.equal(later.asOf, age.asOf)
  })
}

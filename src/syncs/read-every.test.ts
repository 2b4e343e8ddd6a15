/** Every row of a query, once, as syncs read it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toMicros } from '#kernel/time.ts'
import type { RowPage } from '#providers/port.ts'
import { aCall, makePagedWorld, type PagedRow, type Paging } from '#tests/support/paged.ts'
import { makeRows } from '#tests/support/windows.ts'
import { type PageRow, readEvery } from './read-every.ts'

function makeScene(streams: PagedRow[][], paging: Paging, pageSize = 4) {
  const world = makePagedWorld({ streams, paging, pageSize })
  /** The ids of the rows that were given out, each time. */
  const given: string[][] = []
  const read = () =>
    readEvery<RowPage<PagedRow>>({
      source: {
        provider: 'snaptrade',
        reader: world.reader,
        queries: world.queries,
        keyOf: (page, index) => page.map(index).id.split(' ')[0] ?? '',
      },
      call: aCall(),
      confirmEnd: async () => undefined,
      onEndless: () => new Error('endless'),
      take: async (rows: readonly PageRow<RowPage<PagedRow>>[]) => {
        given.push(rows.map(({ page, index, copy }) => `${page.map(index).id} ${copy}`))
      },
    })
  return { world, given, read }
}
const numbered = (count: number) => makeRows(count).map(({ id }, index) => `${id} ${index + 1}`)

test('the rows of one list with cursors are given out page by page, each once, and those of identical fills are numbered', async () => {
  const { world, given, read } = makeScene([makeRows(10)], 'after')
  await read()
  assert.deepEqual(given.flat(), numbered(10))
  assert.deepEqual(
    given.map((rows) => rows.length).filter((count) => count > 0),
    [4, 4, 2],
  )
  assert.equal(world.reads.length, 3)
})

test('nothing of numbered pages that moved is given out: they are read again, four times at most', async () => {
  const { world, given, read } = makeScene([makeRows(10)], 'number')
  let moves = 1
  world.onRead = (cursor) => {
    if (cursor === null || moves === 0) return
    moves -= 1
    world.streams[0]?.shift()
  }
  await read()
  assert.deepEqual(given, [
    makeRows(10)
      .slice(1)
      .map(({ id }, index) => `${id} ${index + 1}`),
  ])
  moves = 100
  world.streams[0]?.push(...makeRows(100, 'x', -50))
  given.length = 0
  world.reads.length = 0
  await assert.rejects(read(), /rows moved between the pages/)
  assert.deepEqual([given, world.reads.filter((page) => page === '0:').length], [[], 4])
})

test('the rows of several lists are given out when all were read, newest first, also behind 5,000', async () => {
  const { given, read } = makeScene([makeRows(6000, 'a'), makeRows(2, 'b', 9)], 'after', 1000)
  await read()
  assert.equal(given.length, 1)
  assert.deepEqual(given[0]?.slice(0, 3), ['b 0 1', 'b 1 2', 'a 0 1'])
  assert.equal(new Set(given[0]).size, 6002)
})

test('a list that does not fail leaves nothing out of one that does', async () => {
  const { world, given, read } = makeScene([makeRows(9, 'a'), makeRows(9, 'b')], 'after')
  const failure = new Error('away')
  world.onRead = (cursor) => {
    if (cursor?.endsWith('b 3')) throw failure
  }
  await assert.rejects(read(), failure)
  assert.deepEqual(given, [])
})

test('pages that wait for others are 64 at most', async () => {
  const pages = (count: number) => makeScene([makeRows(count * 4), []], 'after')
  const most = pages(63)
  await most.read()
  assert.equal(most.given.flat().length, 252)
  await assert.rejects(pages(64).read(), /endless/)
})

test('rows outside of the days are not given out', async () => {
  const { world, given, read } = makeScene([makeRows(10)], 'after')
  const window = { from: toMicros(0), to: toMicros(0) }
  Object.assign(world.queries[0] ?? {}, { window })
  await read()
  assert.deepEqual(given.flat(), ['r 0 1'])
})

test('pages that do not end, and a taker that fails, end the reading with their error', async () => {
  await assert.rejects(makeScene([makeRows(2001)], 'after', 1).read(), /endless/)
  const { given, read } = makeScene([makeRows(9)], 'after')
  let isFull = true
  given.push = () => {
    if (!isFull) return 0
    isFull = false
    return assert.fail('it is full')
  }
  await assert.rejects(read(), /it is full/)
})

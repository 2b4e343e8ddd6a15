/**
 * Windows under everything that can happen to a walk (tests/support/paging-game.ts), and R16 to R19 over any
 * pages.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RowPage } from '#providers/port.ts'
import { makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makeTally } from '#tests/support/paging-board.ts'
import { playGame } from '#tests/support/paging-game.ts'
import { makeRows, makeStage } from '#tests/support/windows.ts'

const games = Number(process.env.PAGING_GAMES ?? 1000)
const firstSeed = Number(process.env.PAGING_SEED ?? Math.floor(Math.random() * 2 ** 31))

test('R17, R18: a walk that ends has every row that existed throughout, each once, or was refused', async (t) => {
  const tally = makeTally()
  for (let seed = firstSeed; seed < firstSeed + games; seed += 1) {
    await playGame(seed, tally).catch((error) => {
      throw new Error(`the game of seed ${seed}: ${error.message}`, { cause: error })
    })
  }
  t.diagnostic(`${games} games from seed ${firstSeed}: ${JSON.stringify(tally)}`)
  assert(tally.walks > games, 'they were games')
  assert(tally.excused + tally.overtaken < tally.walks / 10, 'few walks are excused')
})

test('R16 to R19: a walk over all windows shows each row once, merged newest first, each page read once', async () => {
  const list = fc.array(fc.tuple(fc.nat(50), fc.boolean()), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(list, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('after' as const, 'number' as const),
      fc.integer({ min: 2, max: 9 }),
      fc.integer({ min: 1, max: 17 }),
      async (lists, paging, pageSize, limit) => {
        const streams = lists.map((rows, name) =>
          rows
            .map(
              ([time, foreign], index): PagedRow => ({
                id: `${name}-${index}`,
                time,
                foreign: foreign && paging === 'after',
              }),
            )
            .sort((one, other) => other.time - one.time),
        )
        const world = makePagedWorld({ streams, paging, pageSize })
        const stage = makeStage(world)
        const process = stage.open()
        const seen: PagedRow[] = []
        for (let round = 0; ; round += 1) {
          assert(round < 200, 'the walk gets on')
          const window = await stage.window(process, seen.length, limit)
          seen.push(...window.rows.map(({ row }) => row))
          assert.deepEqual(window.complete, true, 'R17: read to the end')
          if (seen.length === window.seen) break
        }
        process.close()
        const wanted = streams.flat().filter(({ foreign }) => !foreign)
        assert.deepEqual(seen.map(({ id }) => id).sort(), wanted.map(({ id }) => id).sort())
        for (const [index, { time }] of seen.entries()) {
          assert((seen[index + 1]?.time ?? time) <= time, 'R16: newest first')
        }
        const isFirst = (read: string) => read.endsWith(':')
        const later = world.reads.filter((read) => !isFirst(read))
        assert.equal(new Set(later).size, later.length, 'R19: each page once')
      },
    ),
    { numRuns: 300 },
  )
})

test('R16: rows keep the order of the provider and are never sorted', async () => {
  const rows = [3, 9, 1, 7].map((time): PagedRow => ({ id: `${time}`, time, foreign: false }))
  const stage = makeStage(makePagedWorld({ streams: [rows], paging: 'after', pageSize: 10 }))
  assert.deepEqual(await stage.ids(stage.open(), 0, 10), ['3', '9', '1', '7'])
})

test('R17, R18: the ceiling stops the reading about 5,000 rows past the offset, and skipped rows do not count', async () => {
  const streams = () => [makeRows(12_000)]
  for (const [paging, pages] of [
    ['after', [5, 6]],
    ['number', [6, 8]],
  ] as const) {
    const world = makePagedWorld({ streams: streams(), paging, pageSize: 1000 })
    const stage = makeStage(world)
    const process = stage.open()
    const first = await stage.window(process, 0, 500)
    assert.deepEqual([first.complete, world.reads.length], [false, pages[0]], paging)
    assert(first.seen >= 4_996 && first.seen <= 5_000)
    const second = await stage.window(process, 500, 500)
    assert.deepEqual([second.complete, world.reads.length], [false, pages[1]], paging)
    assert.equal(second.rows[0]?.row.id, 'r 500')
  }
})

test('R17: five full numbered pages are 5,000 rows, unless the rest is smaller than what they repeat', async () => {
  for (const [count, complete] of [
    [5_000, true],
    [5_600, false],
  ] as const) {
    const streams = [makeRows(count)]
    const stage = makeStage(makePagedWorld({ streams, paging: 'number', pageSize: 1000 }))
    assert.equal((await stage.window(stage.open(), 0, 500)).complete, complete)
  }
})

test('R24a: the second and later of identical fills are numbered, the same in every window and on every page', async () => {
  const rows = ['x', 'y', 'x', 'x', 'y', 'z'].map(
    (key, index): PagedRow => ({ id: `${key} ${index}`, time: 0, foreign: false }),
  )
  for (const pageSize of [2, 3, 6]) {
    const world = makePagedWorld({ streams: [rows], paging: 'number', pageSize })
    const stage = makeStage(world, { isNumbered: true })
    const named = async (offset: number, limit: number) =>
      (await stage.window(stage.open(), offset, limit)).rows.map(
        ({ row, copy }) => `${row.id[0]}${copy}`,
      )
    assert.deepEqual(await named(0, 10), ['x1', 'y1', 'x2', 'x3', 'y2', 'z1'])
    assert.deepEqual(await named(3, 2), ['x3', 'y2'])
  }
})

test('R20b: lists without a row of the connection are doubted only when all of them are', async () => {
  const findDoubted = async (streams: PagedRow[][]) => {
    const stage = makeStage(makePagedWorld({ streams, paging: 'after', pageSize: 4 }))
    await stage.ids(stage.open(), 0, 10)
    return stage.doubted
  }
  const [row] = makeRows(1)
  assert(row !== undefined)
  assert.deepEqual(await findDoubted([[row], [{ ...row, id: 'b' }]]), [])
  assert.deepEqual(await findDoubted([[row], []]), [])
  assert.deepEqual(await findDoubted([[], [row], []]), [])
  assert.deepEqual(await findDoubted([[], []]), ['all'])
  assert.deepEqual(await findDoubted([[{ ...row, foreign: true }]]), ['all'])
  assert.deepEqual(await findDoubted([]), ['all'])
})

test('a row that the provider sends twice within one read is shown once', async () => {
  const world = makePagedWorld({ streams: [makeRows(6)], paging: 'after', pageSize: 3 })
  world.onRead = (cursor) => {
    const rows = world.streams[0] ?? []
    const [first] = rows
    if (cursor !== null && first !== undefined) rows.splice(4, 0, first)
  }
  const stage = makeStage(world)
  const seen = await stage.ids(stage.open(), 0, 10)
  assert.deepEqual(
    seen.toSorted(),
    makeRows(6).map(({ id }) => id),
  )
})

test('pages that form a cycle are an unreadable answer, not an endless read', async () => {
  const world = makePagedWorld({ streams: [makeRows(9)], paging: 'after', pageSize: 3 })
  const { read } = world.reader
  Object.assign(world.reader, {
    async read(...given: Parameters<typeof read>): Promise<RowPage<PagedRow>> {
      const page = await read(...given)
      return { ...page, next: given[1] === null ? page.next : 'a0 r 2' }
    },
  })
  const stage = makeStage(world)
  await assert.rejects(stage.ids(stage.open(), 0, 10), /the pages form a cycle/)
  assert(world.reads.length <= 3)
})

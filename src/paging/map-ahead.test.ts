/** Checks that rows of a window are mapped while its last pages are awaited, and what becomes of rows that cannot be. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage } from '#providers/port.ts'
import { aCall, makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makePageMemory } from './page-memory.ts'
import { makeWalk } from './walk.ts'

const rows = Array.from(
  { length: 12 },
  (_row, index): PagedRow => ({ id: `row ${index}`, time: -index, foreign: false }),
)

/** A walk whose pages report what is mapped; `hold` delays a read. */
function begin(onMap: (row: number) => void) {
  const world = makePagedWorld({ streams: [[...rows]], paging: 'after', pageSize: 4 })
  const { reader } = world
  let hold: () => Promise<void> = async () => undefined
  const watch = <Page extends RowPage<PagedRow>>(page: Page): Page => ({
    ...page,
    map(index: number) {
      const row = page.map(index)
      onMap(Number(row.id.slice(4)))
      return row
    },
  })
  const watched: typeof reader = {
    ...reader,
    async read(query, cursor, call) {
      const page = await reader.read(query, cursor, call)
      await hold()
      return watch(page)
    },
    open: (query, cursor, body) => watch(reader.open(query, cursor, body)),
  }
  const walk = makeWalk(
    { ...world, reader: watched },
    { provider: 'fiskil', memory: makePageMemory(1_000_000), shared: null, expiresAt: 60_000 },
  )
  return {
    world,
    delay: (wait: () => Promise<void>) => {
      hold = wait
    },
    read: async (limit: number) => {
      const window = { offset: 0, limit, pageCap: null, confirmEnd: async () => undefined }
      return (await walk.window(window, aCall())).rows.map(({ row }) => row.id)
    },
  }
}

test('rows of the window are mapped once, and while the pages after them are awaited', async () => {
  const mapped: number[] = []
  const atRead: number[][] = []
  const { read, delay } = begin((row) => mapped.push(row))
  delay(async () => {
    // Long enough for whatever is not waiting for this page.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    atRead.push([...mapped])
  })
  assert.deepEqual(
    await read(6),
    rows.slice(0, 6).map(({ id }) => id),
  )
  assert.deepEqual(atRead, [[], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
  assert.deepEqual(mapped, [0, 1, 2, 3, 4, 5])
})

test('R23: a row that cannot be mapped fails the window that shows it, after all pages are read', async () => {
  const { world, read } = begin((row) => {
    if (row === 1) throw new UpstreamError('fiskil', { kind: 'malformed', detail: 'row 1' })
  })
  await assert.rejects(read(6), /row 1/)
  assert.equal(world.reads.length, 3)
})

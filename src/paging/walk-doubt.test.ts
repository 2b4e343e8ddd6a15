/** Pages that are fetched again without rows: a consent that ended looks like deleted rows (reading R20b). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import { aCall, makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makePageMemory } from './page-memory.ts'
import { makeWalk } from './walk.ts'

const bodyBytes = 1000
const rows = Array.from(
  { length: 24 },
  (_row, index): PagedRow => ({ id: `row ${index}`, time: -index, foreign: false }),
)

/** A walk that was read to its end, with two of its six pages in memory. */
async function begin() {
  const world = makePagedWorld({ streams: [[...rows]], paging: 'hidden', pageSize: 4, bodyBytes })
  const walk = makeWalk(world, {
    provider: 'fiskil',
    memory: makePageMemory(2 * bodyBytes),
    shared: null,
    expiresAt: 60_000,
  })
  const seen = { doubts: 0, isLost: false }
  async function confirmEnd() {
    seen.doubts += 1
    if (seen.isLost) throw new UpstreamError('fiskil', { kind: 'preparing', detail: 'not yet' })
  }
  const read = async (offset: number, limit: number) => {
    const window = await walk.window({ offset, limit, pageCap: null, confirmEnd }, aCall())
    return window.rows.map(({ row }) => row.id)
  }
  await read(0, 4)
  return { world, seen, read }
}

const idsOf = (from: number, to: number) => rows.slice(from, to).map(({ id }) => id)

test('R20b: when a page that had rows is fetched empty, the consent is checked before its rows count as deleted', async () => {
  const { world, seen, read } = await begin()
  world.streams[0] = []
  seen.isLost = true
  for (let turn = 0; turn < 2; turn += 1) {
    await assert.rejects(read(2, 12), (error) => error instanceof UpstreamError)
  }
  assert(seen.doubts > 0)
  seen.isLost = false
  world.streams[0] = [...rows]
  assert.deepEqual(await read(2, 12), idsOf(2, 14), 'nothing was taken for gone meanwhile')
})

test('R20b: rows whose page came back empty are left out once the consent is confirmed', async () => {
  const { world, seen, read } = await begin()
  world.streams[0] = rows.slice(0, 8)
  assert.deepEqual(await read(4, 16), idsOf(4, 8))
  assert.equal(seen.doubts, 1)
})

/** Checks that a closed walk gives back what it remembers, at once, and only after the windows that still wait for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { aCall, makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makePageMemory } from './page-memory.ts'
import { makeWalk } from './walk.ts'

const rows = Array.from(
  { length: 12 },
  (_row, index): PagedRow => ({ id: `row ${index}`, time: -index, foreign: false }),
)

function begin() {
  const world = makePagedWorld({ streams: [[...rows]], paging: 'after', pageSize: 4 })
  const memory = makePageMemory(1_000_000)
  const walk = makeWalk(world, { provider: 'fiskil', memory, shared: null, expiresAt: 60_000 })
  const read = () =>
    walk.window({ offset: 0, limit: 8, pageCap: null, confirmEnd: async () => {} }, aCall())
  return { walk, memory, read }
}

test('a closed walk holds neither pages nor rows, however often it is closed', async () => {
  const { walk, memory, read } = begin()
  await read()
  const [held, remembered] = [memory.size(), walk.size()]
  walk.close()
  await nextTurn()
  walk.close()
  assert(held > 0)
  assert.equal(memory.size(), 0)
  assert(walk.size() < remembered / 2, `${walk.size()} of ${remembered} bytes`)
})

test('a window that was asked for before the walk was closed has all its rows', async () => {
  const { walk, memory, read } = begin()
  const [first, second] = [read(), read()]
  walk.close()
  for (const window of [await first, await second]) {
    assert.deepEqual(
      window.rows.map(({ row }) => row.id),
      rows.slice(0, 8).map(({ id }) => id),
    )
  }
  await nextTurn()
  assert.equal(memory.size(), 0)
  walk.close()
})

/** Requests that are on their way while the epoch of their user passes (reading R10). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePagedWorld, type PagedRow } from '#tests/support/paged.ts'
import { makeRows, makeStage } from '#tests/support/windows.ts'

const idsOf = (from: number, to: number) =>
  makeRows(to)
    .slice(from)
    .map(({ id }) => id)
const arrival: PagedRow = { id: 'new', time: 1, foreign: false }

/** A walk begins, and its first page comes when it is let. */
function beginSlowly(count: number, limit: number) {
  const world = makePagedWorld({ streams: [makeRows(count)], paging: 'after', pageSize: 4 })
  const stage = makeStage(world)
  const process = stage.open()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  world.wait = async () => {
    world.wait = async () => undefined
    await promise
  }
  const slow = stage.window(process, 0, limit)
  return { rows: world.streams[0] ?? [], stage, process, slow, release }
}

test('R10: a walk of an epoch that has passed takes the rows of the walk that began later, and is not cached', async () => {
  const { rows, stage, process, slow, release } = beginSlowly(20, 6)
  stage.epoch = 2
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(0, 4))
  rows.unshift(arrival)
  release()
  const window = await slow
  assert.deepEqual(
    window.rows.map(({ row }) => row.id),
    idsOf(0, 6),
  )
  assert.equal(window.staleAt, 0)
  // Its next window is asked in the present epoch, and whoever begins in it still sees the same rows.
  assert.deepEqual(await stage.ids(process, 6, 3), idsOf(6, 9))
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(0, 4))
  assert.deepEqual(await stage.ids(process, 4, 4), idsOf(4, 8))
})

test('R10: a walk of an epoch that has passed is refused where the accounts or the time zone changed meanwhile', async () => {
  const { rows, stage, process, slow, release } = beginSlowly(20, 6)
  Object.assign(stage, { epoch: 2, zoneAndAccounts: 'other' })
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(0, 4))
  rows.unshift(arrival)
  release()
  await assert.rejects(slow, /the list changed while it was read: start again at offset 0/)
  assert.deepEqual(await stage.ids(process, 4, 4), idsOf(4, 8))
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(0, 4))
})

test('R10: a walk of an epoch that has passed never begins a generation over the present one, but over a broken one', async () => {
  const { rows, stage, process, slow, release } = beginSlowly(20, 6)
  stage.epoch = 2
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(0, 4))
  rows.shift()
  release()
  await assert.rejects(slow, { name: 'UpstreamError' })
  assert.deepEqual(await stage.ids(process, 0, 4), idsOf(1, 5))

  const late = beginSlowly(20, 6)
  late.stage.epoch = 2
  await late.stage.ids(late.process, 0, 4)
  late.rows.shift()
  late.stage.epoch = 3
  await assert.rejects(late.stage.ids(late.process, 4, 4), /the list changed/)
  late.release()
  const window = await late.slow
  assert.deepEqual(
    window.rows.map(({ row }) => row.id),
    idsOf(1, 7),
  )
})

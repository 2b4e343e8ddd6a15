/** What a request goes on with after another one has ended, in a doubt, a failure or an end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import { makePagedWorld, makeSharedMemory, type PagedRow } from '#tests/support/paged.ts'
import { makeRows, makeStage } from '#tests/support/windows.ts'
import { doubtLifeMs } from './windows.ts'

const announcing = (...streams: PagedRow[][]) =>
  makePagedWorld({ streams, paging: 'after', pageSize: 4, announces: true })
const foreign = (count: number, newest = 0) =>
  makeRows(count, 'other', newest).map((row) => ({ ...row, foreign: true }))
const failureOf = (kind: 'unavailable' | 'rejected', status: number | null) =>
  new UpstreamError('fiskil', { kind, status, detail: `status ${status}` } as never)

test('R20b: pages in doubt that a process goes on with are not shared by it either', async () => {
  const rows = [...makeRows(4), ...foreign(12, -4)]
  const stage = makeStage(announcing(rows), { pageCap: 2 })
  const shared = makeSharedMemory()
  const [one, other] = [stage.open({ shared }), stage.open({ shared })]
  await stage.ids(one, 0, 4)
  await stage.ids(one, 4, 4)
  rows.splice(4, 0, ...makeRows(2, 'came', -4))
  assert.deepEqual(await stage.ids(other, 4, 4), ['came 0', 'came 1'])
})

test('R20b: a request that is given up behind the last page leaves nothing of an end that nobody doubted', async () => {
  const rows = [...makeRows(4), ...foreign(2, -4)]
  const world = announcing(rows)
  const stage = makeStage(world)
  const process = stage.open()
  let left = false
  const read = world.reader.read.bind(world.reader)
  Object.assign(world.reader, {
    async read(...given: Parameters<typeof read>) {
      const page = await read(...given)
      if (page.next === null && !left) {
        left = true
        Object.assign(given[2].signal, { throwIfAborted: () => assert.fail('the client left') })
      }
      return page
    },
  })
  await assert.rejects(stage.ids(process, 0, 10), /the client left/)
  rows.splice(4, 0, ...makeRows(2, 'came', -4))
  assert.deepEqual(await stage.ids(process, 0, 10), [
    'r 0',
    'r 1',
    'r 2',
    'r 3',
    'came 0',
    'came 1',
  ])
})

test('R20b, R20c: pages in doubt are continued for two minutes after the last request, however long ago they began', async () => {
  const world = announcing([...foreign(60), ...makeRows(2, 'r', -100)])
  const stage = makeStage(world)
  const process = stage.open()
  let left = 0
  world.onRead = () => {
    left -= 1
    if (left < 0) throw failureOf('unavailable', 503)
  }
  for (let request = 0; request < 3; request += 1) {
    left = 5
    await assert.rejects(stage.ids(process, 0, 10), UpstreamError)
    stage.now += (doubtLifeMs * 3) / 4
  }
  left = 1
  assert.deepEqual(await stage.ids(process, 0, 10), ['r 0', 'r 1'])
})

test('R20b: an end in doubt that a failure left is read again, and not confirmed by a later question', async () => {
  const rows = makeRows(3)
  const world = announcing(rows, makeRows(2, 'old', -99))
  const stage = makeStage(world)
  const process = stage.open()
  const silent = rows.splice(0)
  let answered = 0
  world.onRead = () => {
    answered += 1
    if (answered === 2) throw failureOf('unavailable', 503)
  }
  // The list ends without a row of the connection, and the other one fails before that is asked about.
  await assert.rejects(stage.ids(process, 0, 4), UpstreamError)
  rows.push(...silent)
  world.onRead = () => undefined
  assert.deepEqual(await stage.ids(process, 0, 4), ['r 0', 'r 1', 'r 2', 'old 0'])
})

test('R20b: an ended list without rows beside one that goes on without any is not doubted yet', async () => {
  const stage = makeStage(announcing([], foreign(12)), { pageCap: 2 })
  stage.confirm = () => Promise.reject(new Error('the provider is not ready'))
  assert.deepEqual(await stage.ids(stage.open(), 0, 4), [])
  assert.equal(stage.doubts, 0)
})

test('R20b: where there is nothing to list, the consent is asked about, numbered or not', async () => {
  for (const paging of ['after', 'number'] as const) {
    const stage = makeStage(makePagedWorld({ streams: [], paging, pageSize: 4 }))
    assert.deepEqual(await stage.ids(stage.open(), 0, 4), [])
    assert.equal(stage.doubts, 1)
  }
})

test('R18: a numbered page that is shorter than the others leads to the next one, and no row is left out', async () => {
  const rows = makeRows(13)
  const world = makePagedWorld({ streams: [rows], paging: 'number', pageSize: 4 })
  const { read, open } = world.reader
  const cut = (page: Awaited<ReturnType<typeof read>>, cursor: unknown) =>
    cursor === 'n3' ? { ...page, length: 3, next: 'n5', ahead: [] } : page
  Object.assign(world.reader, {
    read: async (...given: Parameters<typeof read>) => cut(await read(...given), given[1]),
    open: (...given: Parameters<typeof open>) => cut(open(...given), given[1]),
  })
  const stage = makeStage(world)
  assert.deepEqual(
    await stage.ids(stage.open(), 0, 20),
    rows.map(({ id }) => id),
  )
})

test('a walk that begins anew does not look for the former first row: it shows what has arrived', async () => {
  const rows = makeRows(8)
  const world = announcing(rows)
  const stage = makeStage(world)
  const shared = makeSharedMemory()
  await stage.ids(stage.open({ shared }), 0, 2)
  rows.unshift(...makeRows(5, 'new', 5))
  shared.clear()
  world.reads.length = 0
  assert.deepEqual(await stage.ids(stage.open({ shared }), 0, 2), ['new 0', 'new 1'])
})

for (const [what, failure] of [
  ['an error of ours', new TypeError('of the test')],
  ['a connection that broke', failureOf('unavailable', null)],
] as const) {
  test(`${what} at the next page is no cursor that was refused: nothing is read again`, async () => {
    const world = announcing(makeRows(40))
    const stage = makeStage(world, { pageCap: 2 })
    const process = stage.open()
    await stage.ids(process, 0, 4)
    stage.now += 120_000
    world.reads.length = 0
    world.onRead = () => {
      throw failure
    }
    await assert.rejects(stage.ids(process, 8, 4), (error) => error === failure)
    assert.equal(world.reads.length, 1)
  })
}

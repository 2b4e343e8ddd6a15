/** How pages are judged when they are read: what they repeat, what they lack, and where a list begins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UpstreamError } from '#providers/failure.ts'
import {
  makePagedWorld,
  makeSharedMemory,
  type PagedRow,
  type Paging,
} from '#tests/support/paged.ts'
import { makeRows, makeStage } from '#tests/support/windows.ts'
import { doubtLifeMs } from './windows.ts'

function makeScene(streams: PagedRow[][], paging: Paging = 'after') {
  const world = makePagedWorld({ streams, paging, pageSize: 4 })
  return { world, rows: streams[0] ?? [], stage: makeStage(world), shared: makeSharedMemory() }
}
/** A full page announces another one, which may be empty. */
const announcing = (rows: PagedRow[]) =>
  makePagedWorld({ streams: [rows], paging: 'after', pageSize: 4, announces: true })
const arrival = (id: string, time: number): PagedRow => ({ id, time, foreign: false })

test('R18: a removal between two numbered pages and a late, older row hide no row, whatever the first page shows', async () => {
  const { world, rows, stage } = makeScene([makeRows(16)], 'number')
  world.onRead = (cursor) => {
    if (cursor !== 'n6') return
    world.onRead = () => undefined
    rows.splice(5, 1)
    rows.push(arrival('late', -99))
  }
  const seen = await stage.ids(stage.open(), 0, 100)
  assert.deepEqual(
    seen,
    rows.map(({ id }) => id),
  )
})

test('R18: a later numbered page without any row is one that moved', async () => {
  const { world, stage } = makeScene([makeRows(9)], 'number')
  const { read } = world.reader
  Object.assign(world.reader, {
    async read(...given: Parameters<typeof read>) {
      const page = await read(...given)
      return given[1] === null
        ? page
        : { ...page, length: 0, next: null, head: () => assert.fail() }
    },
  })
  await assert.rejects(stage.ids(stage.open(), 0, 100), UpstreamError)
})

test('R20b: only a list without rows of the connection is doubted, and it is not shown before the doubt has ended', async () => {
  const whole = makeScene([makeRows(8)])
  await whole.stage.ids(whole.stage.open(), 0, 100)
  assert.equal(whole.stage.doubts, 0)

  const empty = makeScene([[]])
  const ended = new Error('the consent has ended')
  empty.stage.confirm = () => Promise.reject(ended)
  await assert.rejects(empty.stage.ids(empty.stage.open(), 0, 100), ended)
})

test('R18: a walk over two lists goes on where more rows arrived above their first ones than a page has', async () => {
  const streams = [makeRows(8, 'a'), makeRows(1, 'b')]
  const { stage, shared } = makeScene(streams)
  const wanted = ['a 0', 'b 0', 'a 1', 'a 2']
  assert.deepEqual(await stage.ids(stage.open({ shared }), 0, 1), wanted.slice(0, 1))
  for (const [list, rows] of streams.entries()) {
    for (let at = 1; at <= 9; at += 1) rows.unshift(arrival(`${list} new ${at}`, at))
  }
  shared.clear()
  assert.deepEqual(await stage.ids(stage.open({ shared }), 1, 3), wanted.slice(1))
})

test('R18: a row that arrives with the time of the first one is not taken for it', async () => {
  const { rows, stage, shared } = makeScene([makeRows(8)])
  await stage.ids(stage.open({ shared }), 0, 2)
  rows.unshift(arrival('new', 0))
  shared.clear()
  assert.deepEqual(await stage.ids(stage.open({ shared }), 2, 2), ['r 2', 'r 3'])
})

test('R20b: an empty list of several pages is doubted where it is read, and not for its later windows', async () => {
  const { stage } = makeScene([foreign(6)])
  const process = stage.open()
  for (const offset of [0, 1, 2]) assert.deepEqual(await stage.ids(process, offset, 2), [])
  assert.equal(stage.doubts, 1)
})

test('R20b: pages that were read before a doubt that failed are read again: their rows may have been missing', async () => {
  const rows = makeRows(4, 'other').map((row) => ({ ...row, foreign: true }))
  const stage = makeStage(announcing(rows))
  const process = stage.open()
  stage.confirm = () => Promise.reject(new Error('the provider is not ready'))
  await assert.rejects(stage.ids(process, 0, 4), /not ready/)
  rows.unshift(...makeRows(3, 'r', 9))
  stage.confirm = async () => undefined
  assert.deepEqual(await stage.ids(process, 0, 4), ['r 0', 'r 1', 'r 2'])
})

test('R20b: what earlier requests and other processes have read is read again after a doubt that failed', async () => {
  const rows = makeRows(12)
  const stage = makeStage(announcing(rows), { pageCap: 1 })
  const [shared, wanted] = [makeSharedMemory(), rows.map(({ id }) => id)]
  const [one, other] = [stage.open({ shared }), stage.open({ shared })]
  assert.deepEqual(await stage.ids(one, 0, 4), wanted.slice(0, 4))
  // Behind these the provider lists nothing but rows of others for a while.
  const silent = rows.splice(4)
  rows.push(...makeRows(4, 'other', -4).map((row) => ({ ...row, foreign: true })))
  stage.confirm = () => Promise.reject(new Error('the provider is not ready'))
  assert.deepEqual(await stage.ids(one, 4, 4), [])
  await assert.rejects(stage.ids(one, 4, 4), /not ready/)
  rows.splice(4, 4, ...silent)
  stage.confirm = async () => undefined
  for (const process of [other, one]) {
    assert.deepEqual(await stage.ids(process, 4, 4), wanted.slice(4, 8))
  }
})

const away = new UpstreamError('fiskil', { kind: 'unavailable', status: 503, detail: 'away' })
const foreign = (count: number, newest = 0) =>
  makeRows(count, 'other', newest).map((row) => ({ ...row, foreign: true }))

test('R20b: a page without a row of the connection is not held, shared or continued after a failure', async () => {
  const rows = foreign(4)
  const world = announcing(rows)
  const stage = makeStage(world)
  const shared = makeSharedMemory()
  const [one, other] = [stage.open({ shared }), stage.open({ shared })]
  world.onRead = (cursor) => {
    if (cursor !== null) throw away
  }
  await assert.rejects(stage.ids(one, 0, 10), UpstreamError)
  assert.equal(shared.saves(), 0)
  // The cursor is refused once, so that all is read again, and then the doubt fails.
  stage.now += 61_000
  world.onRead = (cursor) => {
    if (cursor === null) return
    world.onRead = () => undefined
    throw away
  }
  stage.confirm = () => Promise.reject(away)
  await assert.rejects(stage.ids(one, 0, 10), UpstreamError)
  rows.unshift(...makeRows(3, 'r', 9))
  stage.confirm = async () => undefined
  for (const process of [one, other]) {
    assert.deepEqual(await stage.ids(process, 0, 10), ['r 0', 'r 1', 'r 2'])
  }
})

test('R20b: a window that waits while another one’s doubt fails does not use what that one has read', async () => {
  const rows = foreign(4)
  const world = announcing(rows)
  const stage = makeStage(world)
  const process = stage.open({ shared: makeSharedMemory() })
  world.onRead = (cursor) => {
    if (cursor !== null) throw away
  }
  await assert.rejects(stage.ids(process, 0, 10), UpstreamError)
  world.onRead = () => undefined
  const { promise, reject } = Promise.withResolvers<void>()
  stage.confirm = () => promise
  const doubted = assert.rejects(stage.ids(process, 0, 100), UpstreamError)
  const waiting = stage.ids(process, 0, 50)
  for (let turns = 20; turns > 0; turns -= 1) await nextTurn()
  rows.unshift(...makeRows(3, 'r', 9))
  stage.confirm = async () => undefined
  reject(away)
  await doubted
  assert.deepEqual(await waiting, ['r 0', 'r 1', 'r 2'])
})

for (const [pause, more] of [
  [doubtLifeMs, 6],
  [doubtLifeMs + 1, 16],
]) {
  test(`R20b, R20c: a long run of rows of others is read by several requests, ${pause} ms apart: ${more} pages more`, async () => {
    const rows = [...foreign(60), ...makeRows(2, 'r', -100)]
    const world = announcing(rows)
    const stage = makeStage(world)
    const process = stage.open({ shared: makeSharedMemory() })
    let left = 10
    world.onRead = () => {
      if (left === 0) throw away
      left -= 1
    }
    await assert.rejects(stage.ids(process, 0, 10), UpstreamError)
    stage.now += pause ?? 0
    left = more ?? 0
    assert.deepEqual(await stage.ids(process, 0, 10), ['r 0', 'r 1'])
    assert.deepEqual([left, stage.doubts], [0, 0])
  })
}

test('R20b: numbered pages of an account without rows are asked about once, and shared', async () => {
  const { world, stage, shared } = makeScene([makeRows(8), []], 'number')
  const [one, other] = [stage.open({ shared }), stage.open({ shared })]
  await stage.ids(one, 0, 4)
  const reads = world.reads.length
  stage.now += doubtLifeMs + 1
  for (const process of [other, one]) await stage.ids(process, 4, 4)
  assert.deepEqual([world.reads.length, stage.doubts], [reads, 1])
})

test('R20b: an end that is in doubt is never shared: another process reads it for itself', async () => {
  const rows = [...makeRows(4), ...foreign(4, -4)]
  const world = announcing(rows)
  const stage = makeStage(world, { pageCap: 2 })
  const shared = makeSharedMemory()
  const [one, other] = [stage.open({ shared }), stage.open({ shared })]
  assert.deepEqual(await stage.ids(one, 0, 4), ['r 0', 'r 1', 'r 2', 'r 3'])
  rows.splice(4, 0, ...makeRows(2, 'came', -4))
  assert.deepEqual(await stage.ids(other, 4, 4), ['came 0', 'came 1'])
})

test('R20b: a list whose emptiness was doubted is read again: rows may have come since', async () => {
  const { rows, stage, shared } = makeScene([[]])
  const process = stage.open({ shared })
  stage.confirm = () => Promise.reject(new Error('the provider is not ready'))
  await assert.rejects(stage.ids(process, 0, 4), /not ready/)
  rows.push(...makeRows(3))
  stage.confirm = async () => undefined
  assert.deepEqual(await stage.ids(process, 0, 4), ['r 0', 'r 1', 'r 2'])
})

test('R20b: an empty list that another list was read beside is not held before its doubt has ended', async () => {
  const { world, stage, shared } = makeScene([[], makeRows(3)])
  const process = stage.open({ shared })
  const [, second] = world.streams
  // The second list fails, then comes empty and its doubt fails, then all is well.
  let answered = 0
  world.onRead = () => {
    answered += 1
    if (answered === 2) throw away
  }
  await assert.rejects(stage.ids(process, 0, 4), UpstreamError)
  world.onRead = () => undefined
  const rows = second?.splice(0) ?? []
  stage.confirm = () => Promise.reject(away)
  await assert.rejects(stage.ids(process, 0, 4), UpstreamError)
  second?.push(...rows)
  stage.confirm = async () => undefined
  assert.deepEqual(await stage.ids(process, 0, 4), ['r 0', 'r 1', 'r 2'])
})

test('R20b: a list that ended in doubt beside one that goes on is doubted at once, and read again where the doubt fails', async () => {
  const rows = [...foreign(4, 9), ...makeRows(8)]
  const streams = [rows, [...foreign(4, 9), ...makeRows(40, 'long')]]
  const world = makePagedWorld({ streams, paging: 'after', pageSize: 4, announces: true })
  const stage = makeStage(world, { pageCap: 8 })
  const process = stage.open()
  const silent = rows.splice(8)
  stage.confirm = () => Promise.reject(new Error('the provider is not ready'))
  await assert.rejects(stage.ids(process, 0, 12), /not ready/)
  rows.push(...silent)
  stage.confirm = async () => undefined
  const seen = await stage.ids(process, 0, 12)
  assert.deepEqual(
    seen.filter((id) => id.startsWith('r')),
    ['r 0', 'r 1', 'r 2', 'r 3', 'r 4', 'r 5'],
  )
})

test('R20b: one page in doubt, in one list of two, is read again after two minutes', async () => {
  const rows = [...makeRows(4), ...foreign(4, -4)]
  const streams = [rows, makeRows(1, 'old', -99)]
  const world = makePagedWorld({ streams, paging: 'after', pageSize: 4, announces: true })
  const stage = makeStage(world, { pageCap: 3 })
  const process = stage.open()
  assert.deepEqual(await stage.ids(process, 0, 4), ['r 0', 'r 1', 'r 2', 'r 3'])
  rows.splice(4, 0, ...makeRows(2, 'came', -4))
  stage.now += doubtLifeMs + 1
  assert.deepEqual(await stage.ids(process, 4, 2), ['came 0', 'came 1'])
})

for (const [left, doubts] of [
  [0, 1],
  [4, 0],
] as const) {
  test(`R20b: where the first row is gone and ${left} others are left, the consent is asked about ${doubts} times`, async () => {
    const { rows, stage, shared } = makeScene([makeRows(8)])
    await stage.ids(stage.open({ shared }), 0, 2)
    rows.splice(0, 8 - left)
    shared.clear()
    stage.confirm = () => Promise.reject(new Error('the consent has ended'))
    const said = doubts > 0 ? /consent has ended/ : /list changed/
    await assert.rejects(stage.ids(stage.open({ shared }), 2, 2), said)
    assert.equal(stage.doubts, doubts)
  })
}

test('R20b: numbered pages whose first row is gone are refused without a question', async () => {
  const { rows, stage, shared } = makeScene([makeRows(8)], 'number')
  await stage.ids(stage.open({ shared }), 0, 2)
  rows.splice(0)
  shared.clear()
  await assert.rejects(stage.ids(stage.open({ shared }), 2, 2), /list changed/)
  assert.equal(stage.doubts, 0)
})

for (const failing of ['n6', null]) {
  test(`R18: numbered pages are all read again where ${failing ?? 'the second look at the first one'} failed`, async () => {
    const { world, stage } = makeScene([makeRows(8)], 'number')
    const process = stage.open()
    world.onRead = (cursor) => {
      if (cursor === failing && world.reads.length > 1) throw away
    }
    await assert.rejects(stage.ids(process, 0, 8), UpstreamError)
    world.onRead = () => undefined
    world.reads.splice(0)
    await stage.ids(process, 0, 8)
    assert.equal(world.reads.length, 4)
  })
}

test('R20b: where numbered rows never stop moving, a consent that has ended is what the caller hears of', async () => {
  const { world, rows, stage } = makeScene([makeRows(8)], 'number')
  world.onRead = () => void rows.unshift(arrival(`new ${rows.length}`, rows.length))
  stage.confirm = () => Promise.reject(new Error('the consent has ended'))
  await assert.rejects(stage.ids(stage.open(), 0, 8), /consent has ended/)
})

test('a cursor that was read just now and is refused is a failure: nothing is read again for it', async () => {
  const { world, stage } = makeScene([makeRows(8)])
  world.onRead = (cursor) => {
    const failure = { kind: 'rejected', status: 400, detail: 'no such cursor' } as const
    if (cursor !== null) throw new UpstreamError('fiskil', failure)
  }
  await assert.rejects(stage.ids(stage.open(), 0, 8), /no such cursor/)
  assert.equal(world.reads.length, 2)
})

const withPending = (streams: PagedRow[][]) => {
  const { world } = makeScene(streams)
  const [pending, posted] = world.queries
  return makeStage({ ...world, queries: [{ ...pending, pending: 'alone' }, posted] as never })
}

test('R20b: posted rows that are missing are doubted although there are pending ones', async () => {
  const stage = withPending([makeRows(1, 'pending'), []])
  const ended = new Error('the consent has ended')
  stage.confirm = () => Promise.reject(ended)
  await assert.rejects(stage.ids(stage.open(), 0, 100), ended)
})

test('R20b: that nothing is pending is doubted by nobody', async () => {
  const stage = withPending([[], makeRows(1)])
  assert.deepEqual(await stage.ids(stage.open(), 0, 9), ['r 0'])
  assert.equal(stage.doubts, 0)
})

/** Marks of the windows that were shown: what a walk that goes on is compared with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import { makePagedWorld, makeSharedMemory, type PagedRow } from '#tests/support/paged.ts'
import { makeRows, makeStage, toFacts, ttlMs } from '#tests/support/windows.ts'
import { type Anchor, addMarks, type Mark, makeAnchors } from './anchor.ts'
import { decode } from './place.ts'
import { makeSnapshot } from './snapshot.ts'

const idsOf = (from: number, to: number) =>
  makeRows(to)
    .slice(from)
    .map(({ id }) => id)
const isRefusal = (error: unknown) =>
  error instanceof Error && /the list changed/.test(error.message)
const arrival: PagedRow = { id: 'new', time: 1, foreign: false }

function makeScene(count: number, pageCap?: number) {
  const world = makePagedWorld({ streams: [makeRows(count)], paging: 'after', pageSize: 4 })
  const rows = world.streams[0] ?? []
  const stage = makeStage(world, pageCap === undefined ? {} : { pageCap })
  return { world, rows, stage, process: stage.open() }
}

test('R18: a walk goes on behind its first row as behind any other', async () => {
  const { rows, stage, process } = makeScene(20)
  await stage.ids(process, 0, 1)
  stage.epoch += 1
  rows.unshift(arrival)
  assert.deepEqual(await stage.ids(process, 1, 3), idsOf(1, 4))
  stage.zoneAndAccounts = 'other'
  await assert.rejects(stage.ids(process, 1, 3), isRefusal)
})

test('R18: a walk of one row is refused where another one begins at a newer row', async () => {
  const { rows, stage, process } = makeScene(20)
  await stage.ids(process, 0, 1)
  stage.epoch += 1
  rows.unshift(arrival)
  assert.deepEqual(await stage.ids(process, 0, 3), ['new', ...idsOf(0, 2)])
  const { epoch } = stage
  await assert.rejects(stage.ids(process, 1, 3), isRefusal)
  assert.equal(stage.epoch, epoch, 'the newer walk has not changed')
})

test('R18: a walk is compared with the nearest window before, in whatever order its windows were shown', async () => {
  const { rows, stage, process } = makeScene(30)
  await stage.ids(process, 15, 5)
  await stage.ids(process, 0, 5)
  rows.splice(10, 1)
  stage.epoch += 1
  await stage.ids(process, 0, 3)
  await assert.rejects(stage.ids(process, 20, 5), isRefusal)
})

test('R18: a row that vanished behind the nearest window before refuses nothing', async () => {
  const { rows, stage, process } = makeScene(30)
  await stage.ids(process, 0, 5)
  await stage.ids(process, 5, 5)
  await stage.ids(process, 15, 5)
  rows.splice(12, 1)
  stage.epoch += 1
  await stage.ids(process, 0, 3)
  assert.deepEqual(await stage.ids(process, 10, 2), idsOf(10, 12))
})

test('R10: a row that was shown and is gone raises the epoch, also behind the window that is asked', async () => {
  for (const removed of [3, 19]) {
    const { rows, stage, process } = makeScene(20)
    for (const offset of [0, 5, 10, 15]) await stage.ids(process, offset, 5)
    stage.epoch = 2
    rows.splice(removed, 1)
    await assert.rejects(stage.ids(process, 5, 5), isRefusal)
    assert.equal(stage.epoch, 3)
  }
})

test('R18: a walk that only got windows without rows for an hour is still compared with what it was shown', async () => {
  const { rows, stage, process } = makeScene(24, 2)
  for (const offset of [0, 6, 12]) await stage.ids(process, offset, 6)
  rows.splice(16, 0, { id: 'late', time: -15.5, foreign: false })
  // The accounts changed: another generation begins, and reads two pages a request.
  stage.zoneAndAccounts = 'other'
  stage.epoch += 1
  for (let hour = 0; hour < 2; hour += 1) {
    stage.now += ttlMs + 1000
    await stage.ids(process, 0, 1)
    assert.deepEqual(await stage.ids(process, 18, 6), [], 'the cap fired before the offset')
  }
  await assert.rejects(async () => {
    for (let round = 0; round < 5; round += 1) {
      if ((await stage.ids(process, 18, 6)).length > 0) return
    }
  }, isRefusal)
})

test('R18: a list whose first row vanished before it was shown is refused, not left out', async () => {
  const streams = [makeRows(9, 'new', 100), makeRows(9, 'old')]
  const world = makePagedWorld({ streams, paging: 'after', pageSize: 4 })
  const stage = makeStage(world)
  const process = stage.open()
  await stage.ids(process, 0, 3)
  stage.epoch += 1
  streams[1]?.shift()
  await assert.rejects(stage.ids(process, 3, 20), isRefusal)
})

test('R18: a list whose first row took another place before it was shown is refused', async () => {
  const streams = [makeRows(9, 'new', 100), makeRows(9, 'old')]
  const stage = makeStage(makePagedWorld({ streams, paging: 'after', pageSize: 4 }))
  const process = stage.open()
  await stage.ids(process, 0, 3)
  stage.epoch += 1
  const first = streams[1]?.shift() ?? assert.fail()
  streams[1]?.splice(2, 0, { ...first, time: -2.5 })
  await assert.rejects(stage.ids(process, 3, 20), isRefusal)
})

test('R18: a row that vanished and one that came between are seen, though as many rows are before the window', async () => {
  const { rows, stage, process } = makeScene(20)
  await stage.ids(process, 0, 5)
  stage.epoch += 1
  rows.splice(2, 1)
  rows.splice(1, 0, { id: 'late', time: -0.5, foreign: false })
  await assert.rejects(stage.ids(process, 5, 5), isRefusal)
})

test('R17: a walk is not complete while one of its lists has more rows', async () => {
  const streams = [makeRows(2, 'new', 100), makeRows(20, 'old')]
  const world = makePagedWorld({ streams, paging: 'after', pageSize: 4 })
  const stage = makeStage(world, { pageCap: 2 })
  assert.equal((await stage.window(stage.open(), 0, 3)).complete, false)
})

test('R18: a walk goes on where its first row is the last one of its page', async () => {
  const { rows, stage, process } = makeScene(20)
  await stage.ids(process, 0, 5)
  stage.epoch += 1
  rows.unshift(...makeRows(3, 'new', 10))
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(5, 10))
})

test('R17: rows that were shown further on and are not read again yet refuse no window', async () => {
  const { stage, process } = makeScene(60, 1)
  for (let offset = 0; offset < 40; offset += 4) await stage.ids(process, offset, 4)
  stage.epoch += 1
  assert.deepEqual(await stage.ids(process, 4, 4), idsOf(4, 8))
})

test('R18: the last window counts when it is shown first, and so does a first one that may go on', async () => {
  const { rows, stage, process } = makeScene(20)
  await stage.ids(process, 15, 5)
  stage.epoch += 1
  rows.splice(3, 1)
  await assert.rejects(stage.ids(process, 10, 5), isRefusal)
  const capped = makeScene(20, 1)
  await capped.stage.ids(capped.process, 0, 4)
  capped.stage.epoch += 1
  capped.rows.unshift(arrival)
  assert.deepEqual(await capped.stage.ids(capped.process, 4, 4), idsOf(4, 8))
})

test('R17: a window behind the last row is empty and ends no walk', async () => {
  const { stage, process } = makeScene(20)
  await stage.ids(process, 0, 5)
  for (let turn = 0; turn < 2; turn += 1) {
    assert.deepEqual(await stage.ids(process, 100, 5), [])
  }
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(5, 10))
  stage.epoch += 1
  assert.deepEqual(await stage.ids(process, 10, 5), idsOf(10, 15))
})

test('R18: the walk that began last goes on, whoever was shown a window since', async () => {
  const { rows, stage, process } = makeScene(40)
  await stage.ids(process, 0, 5)
  stage.now += 1000
  stage.epoch = 2
  rows.unshift(arrival)
  await stage.ids(process, 0, 3)
  stage.epoch = 1
  assert.deepEqual(await stage.ids(process, 5, 5), idsOf(5, 10))
  stage.epoch = 3
  assert.deepEqual(await stage.ids(process, 3, 3), idsOf(2, 5))
})

test('R18: of two processes that begin a walk at once the first to show its window wins, and the other uses its generation', async () => {
  const shared = makeSharedMemory()
  // Without the cache each process reads for itself.
  shared.isDown = true
  const { stage } = makeScene(20)
  const [one, two] = [stage.open({ shared }), stage.open({ shared })]
  assert.deepEqual(await Promise.all([stage.ids(one, 0, 4), stage.ids(two, 0, 6)]), [
    idsOf(0, 4),
    idsOf(0, 6),
  ])
  const stored = await shared.anchors.load('q', null)
  const anchor = stored.kind === 'found' ? decode<Anchor>(stored.bytes) : null
  assert.ok(anchor !== null)
  assert.deepEqual([...anchor.marks.keys()].toSorted(), [0, 4, 6])
  const generations = new Set([...anchor.marks.values()].map(({ generation }) => generation))
  assert.deepEqual([...generations], [anchor.origin.generation])
})

test('a window of an earlier generation may end where a reader of a still earlier one stood', () => {
  const marks = new Map<number, Mark>([[6, { sum: 1, generation: 'first', at: 1 }]])
  const before: Anchor = {
    origin: toFacts('third', 3),
    zoneAndAccounts: '',
    marks,
    goodUntil: Infinity,
    expiresAt: 1,
  }
  const snapshot = makeSnapshot(toFacts('second', 2), [[]])
  const shown = { zoneAndAccounts: '', offset: 0, end: 6, now: 4, ttlMs: 0, goodUntil: Infinity }
  assert.deepEqual(addMarks(before, snapshot, shown)?.marks.get(6), {
    sum: 0,
    generation: 'second',
    at: 4,
  })
})

test('an anchor keeps 1,024 marks, those where readers stood last', () => {
  const facts = {
    generation: 'g',
    generationEpoch: 1,
    generationAt: 0,
    seed: 1,
    window: { from: null, to: null },
    firsts: null,
  }
  const snapshot = makeSnapshot(facts, [[]])
  const marks = new Map<number, Mark>()
  for (let at = 1; at <= 1025; at += 1) marks.set(at, { sum: 0, generation: 'g', at: 2000 - at })
  const before: Anchor = {
    origin: facts,
    zoneAndAccounts: '',
    marks,
    goodUntil: Infinity,
    expiresAt: 1,
  }
  const shown = {
    zoneAndAccounts: '',
    offset: 1,
    end: 1030,
    now: 2000,
    ttlMs: 0,
    goodUntil: Infinity,
  }
  const kept = [...(addMarks(before, snapshot, shown)?.marks.keys() ?? [])].toSorted(
    (a, b) => a - b,
  )
  assert.deepEqual([kept.length, kept[0], kept.at(-2), kept.at(-1)], [1025, 1, 1024, 1030])
})

test('a process remembers anchors up to a bound of marks, the ones changed last', async () => {
  const anchors = makeAnchors({ now: () => 0 }, null)
  const mark: Mark = { sum: 1, generation: 'g', at: 0 }
  const marks = new Map(Array.from({ length: 1000 }, (_, at) => [at, mark] as const))
  const origin = {
    generation: 'g',
    generationEpoch: 1,
    generationAt: 0,
    seed: 1,
    window: { from: null, to: null },
    firsts: [],
  }
  const anchor: Anchor = { origin, zoneAndAccounts: '', marks, goodUntil: Infinity, expiresAt: 1 }
  for (let query = 0; query < 250; query += 1) await anchors.update(`${query}`, () => anchor)
  assert.equal(await anchors.load('0', 0), null)
  assert.notEqual(await anchors.load('249', 0), null)
  assert.notEqual(await anchors.load('60', 0), null)
})

test('R18: an anchor that another version wrote refuses later windows, whatever this process remembers', async () => {
  const shared = makeSharedMemory()
  const stage = makeStage(makePagedWorld({ streams: [makeRows(8)], paging: 'after', pageSize: 4 }))
  const process = stage.open({ shared })
  await stage.ids(process, 0, 4)
  const found = await shared.anchors.load('q', null)
  const expected = found.kind === 'found' ? found.version : assert.fail()
  await shared.anchors.save('q', { expected, bytes: new Uint8Array(8), ttlMs: 1 })
  stage.epoch += 1
  await assert.rejects(stage.ids(process, 1, 4), isRefusal)
  assert.equal((await stage.ids(process, 0, 4)).length, 4)
})

test('R18: where nobody stood for an hour, a window of an earlier generation refuses no reader', async () => {
  for (const [pause, isRefused] of [
    [ttlMs - 1, true],
    [ttlMs, false],
  ] as const) {
    const { rows, stage, process } = makeScene(20)
    for (const offset of [0, 5]) await stage.ids(process, offset, 5)
    rows.unshift(arrival)
    stage.now += ttlMs
    await stage.ids(process, 0, 3)
    stage.now += pause
    await stage.ids(process, 0, 3)
    const window = stage.ids(process, 12, 3)
    if (isRefused) await assert.rejects(window, isRefusal)
    else assert.deepEqual(await window, idsOf(11, 14))
  }
})

test('a window whose marks other processes always come before fails after a bounded number of attempts', async () => {
  const { stage } = makeScene(20)
  let saves = 0
  const anchors = {
    load: async () => ({ kind: 'none' }) as const,
    async save() {
      saves += 1
      return { kind: 'conflict' } as const
    },
  }
  const process = stage.open({ shared: { ...makeSharedMemory(), anchors } })
  await assert.rejects(stage.ids(process, 0, 4), UpstreamError)
  assert.equal(saves, 72)
})

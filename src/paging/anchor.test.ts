/** What an anchor keeps when windows are shown, and the end of the data that it begins with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makePagedWorld, makeSharedMemory, type PagedRow } from '#tests/support/paged.ts'
import { makeRows, makeStage, toFacts, ttlMs } from '#tests/support/windows.ts'
import { type Anchor, addMarks, anchorLifeMs, type Mark } from './anchor.ts'
import { clockSlackMs, decode } from './place.ts'
import { makeSnapshot, type SnapshotPage } from './snapshot.ts'

const now = 2 * ttlMs
const isRefusal = (error: unknown) =>
  error instanceof Error && /the list changed/.test(error.message)
const arrival: PagedRow = { id: 'new', time: 1, foreign: false }

/** A snapshot of this many rows, with fingerprints 1, 2, 3 … */
function makeRead(generation: string, generationAt: number, count: number) {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const page: SnapshotPage = {
    name: 'page',
    cursor: null,
    next: null,
    ahead: [],
    total: null,
    received: count,
    ownRows: count,
    bottom: null,
    age: null,
    places: Uint32Array.from(numbers),
    times: Float64Array.from(numbers, (number) => -number),
    prints: Float64Array.from(numbers),
    fills: new Float64Array(),
  }
  return makeSnapshot(toFacts(generation, generationAt), [[page]])
}

function makeAnchor(generation: string, generationAt: number, marks: [number, Mark][]): Anchor {
  const origin = toFacts(generation, generationAt)
  return { origin, goodUntil, zoneAndAccounts: 'zone', marks: new Map(marks), expiresAt: now + 1 }
}
const goodUntil = Number.POSITIVE_INFINITY
const shown = (offset: number, end: number) => {
  return { zoneAndAccounts: 'zone', offset, end, now, ttlMs, goodUntil }
}
const expiresAt = now + ttlMs + anchorLifeMs

test('R17: a window without rows keeps the mark of its reader, and the anchor lives on', () => {
  const mark: Mark = { sum: 77, generation: 'one', at: 5 }
  const before = makeAnchor('one', 0, [[9, mark]])
  const kept = addMarks(before, makeRead('one', 0, 3), shown(9, 3))
  assert.deepEqual([...(kept?.marks ?? [])], [[9, { ...mark, at: now }]])
  assert.deepEqual(kept, { ...before, marks: kept?.marks, expiresAt })
  assert.equal(addMarks(before, makeRead('one', 0, 3), shown(8, 3)), null)
})

test('a window of an earlier generation ends where a reader of the later one stands with the same rows, whose mark stays', () => {
  const theirs: Mark = { sum: 1 + 2, generation: 'later', at: 5 }
  const before = makeAnchor('later', 9, [[2, theirs]])
  const anchor = addMarks(before, makeRead('earlier', 3, 3), shown(1, 2))
  assert.deepEqual(
    new Map(anchor?.marks),
    new Map([
      [1, { ...theirs, sum: 1, generation: 'earlier', at: now }],
      [2, theirs],
    ]),
  )
  assert.deepEqual(anchor, { ...before, marks: anchor?.marks, expiresAt })
  const others = makeAnchor('later', 9, [[2, { ...theirs, sum: 4 }]])
  assert.throws(() => addMarks(others, makeRead('earlier', 3, 3), shown(1, 2)), /another reader/)
})

test('R36: a walk that begins takes the rows of the one before only as long as their data may be shown', async () => {
  const world = makePagedWorld({ streams: [makeRows(12)], paging: 'after', pageSize: 4 })
  const stage = makeStage(world)
  const goodUntil = stage.now + 600_000
  const { read } = world.reader
  Object.assign(world.reader, {
    read: async (...given: Parameters<typeof read>) => {
      const page = await read(...given)
      return { ...page, age: { asOf: 7, goodUntil: stage.now < goodUntil ? goodUntil : Infinity } }
    },
  })
  const shared = makeSharedMemory()
  assert.equal((await stage.window(stage.open({ shared }), 0, 3)).staleAt, goodUntil)
  world.streams[0]?.unshift(arrival)
  const firstRow = async () => {
    shared.clear()
    return (await stage.ids(stage.open({ shared }), 0, 3))[0]
  }
  stage.now = goodUntil - 1
  assert.equal(await firstRow(), 'r 0')
  stage.now = goodUntil
  assert.equal(await firstRow(), 'new')
})

function makeScene() {
  const world = makePagedWorld({ streams: [makeRows(20)], paging: 'after', pageSize: 4 })
  return { rows: world.streams[0] ?? [], stage: makeStage(world), shared: makeSharedMemory() }
}

test('R18: marks that a process could not store count once their server is back', async () => {
  for (const isGone of [false, true]) {
    const { rows, stage, shared } = makeScene()
    const process = stage.open({ shared })
    await stage.ids(process, 0, 4)
    shared.isAnchorDown = true
    await stage.ids(process, 4, 4)
    shared.isAnchorDown = false
    stage.epoch += 1
    if (isGone) rows.splice(5, 1)
    const next = stage.ids(process, 8, 2)
    if (isGone) await assert.rejects(next, isRefusal)
    else assert.deepEqual(await next, ['r 8', 'r 9'])
  }
})

test('R18: where Redis lost the anchor and another process began anew, who has shown windows refuses the next ones', async () => {
  const { rows, stage, shared } = makeScene()
  const [one, two] = [stage.open({ shared }), stage.open({ shared })]
  for (const offset of [0, 4]) await stage.ids(one, offset, 4)
  shared.clear()
  shared.clearAnchors()
  rows.unshift(arrival)
  await stage.ids(two, 0, 3)
  stage.epoch += 1
  await assert.rejects(stage.ids(one, 8, 4), isRefusal)
})

test('a clock that is set back by more than a minute ends what was held and the anchor', async () => {
  for (const isHeld of [true, false]) {
    for (const [backMs, first] of [
      [clockSlackMs, 'r 0'],
      [clockSlackMs + 1, 'new'],
    ] as const) {
      const { rows, stage, shared } = makeScene()
      stage.now = now
      const process = stage.open({ shared })
      await stage.ids(process, 0, 3)
      rows.unshift(arrival)
      stage.now -= backMs
      if (!isHeld) shared.clear()
      const next = isHeld ? process : stage.open({ shared })
      assert.equal((await stage.ids(next, 0, 3))[0], first)
    }
  }
})

test('R19: what processes share expires with the snapshot, and the anchor half an hour after a snapshot that begins now', async () => {
  const { stage, shared } = makeScene()
  const lives = new Map<string, number>()
  const { snapshots, anchors, bodies } = shared
  const note = (what: 'snapshots' | 'anchors', to: typeof anchors): typeof anchors => ({
    load: to.load,
    save(key, value) {
      lives.set(what, value.ttlMs)
      return to.save(key, value)
    },
  })
  const process = stage.open({
    shared: {
      snapshots: note('snapshots', snapshots),
      anchors: note('anchors', anchors),
      bodies: {
        get: bodies.get,
        set(key, answer, lifeMs, owner) {
          lives.set('bodies', lifeMs)
          return bodies.set(key, answer, lifeMs, owner)
        },
      },
    },
  })
  await stage.ids(process, 0, 3)
  assert.deepEqual(Object.fromEntries(lives), {
    bodies: ttlMs,
    snapshots: ttlMs,
    anchors: ttlMs + anchorLifeMs,
  })
})

test('R10: a window of another list is shown when the cached windows of the one before are outdated, not earlier', async () => {
  const { rows, stage, shared } = makeScene()
  await stage.ids(stage.open({ shared }), 0, 4)
  rows.splice(0, 1)
  shared.clear()
  let isOutdated = false
  stage.outdate = async () => {
    for (let turns = 0; turns < 100; turns += 1) await nextTurn()
    isOutdated = true
  }
  assert.equal((await stage.ids(stage.open({ shared }), 0, 4))[0], 'r 1')
  assert.ok(isOutdated)
})

test('R10: with other accounts the second row of a walk is refused too, though the same row stands before it', async () => {
  const { stage, shared } = makeScene()
  await stage.ids(stage.open({ shared }), 0, 1)
  stage.zoneAndAccounts = 'other'
  await assert.rejects(stage.ids(stage.open({ shared }), 1, 3), isRefusal)
})

test('the fingerprints of two lists have two seeds, which their anchors keep', async () => {
  const seeds = new Set<number>()
  for (let list = 0; list < 2; list += 1) {
    const { stage, shared } = makeScene()
    await stage.ids(stage.open({ shared }), 0, 3)
    const found = await shared.anchors.load('q', null)
    const { origin } =
      decode<Anchor>(found.kind === 'found' ? found.bytes : assert.fail()) ?? assert.fail()
    assert.ok(Number.isSafeInteger(origin.seed))
    seeds.add(origin.seed)
  }
  assert.equal(seeds.size, 2)
})

test('R19: a window is cached when its ends are marked where other processes see them, and an empty one only at offset 0', async () => {
  const staleAt = async (count: number, offset: number, isAnchorDown = false) => {
    const world = makePagedWorld({ streams: [makeRows(count)], paging: 'after', pageSize: 4 })
    const stage = makeStage(world)
    const shared = Object.assign(makeSharedMemory(), { isAnchorDown })
    return (await stage.window(stage.open({ shared }), offset, 1)).staleAt - stage.now
  }
  assert.deepEqual(
    [await staleAt(9, 0), await staleAt(9, 3), await staleAt(0, 0)],
    Array(3).fill(ttlMs),
  )
  assert.ok((await staleAt(1, 1)) < 0)
  assert.ok((await staleAt(9, 0, true)) < 0)
})

test('R18: the last window of a list is marked unless it shows the whole list, also where it begins at the second row', async () => {
  const listMarks = async (offset: number) => {
    const { stage, shared } = makeScene()
    await stage.ids(stage.open({ shared }), offset, 100)
    const found = await shared.anchors.load('q', null)
    return found.kind === 'found' ? [...(decode<Anchor>(found.bytes)?.marks.keys() ?? [])] : null
  }
  assert.deepEqual([await listMarks(0), await listMarks(1)], [null, [1, 20]])
})

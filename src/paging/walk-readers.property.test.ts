/**
 * Any readers of a walk, with any windows, in one process or in two, see every row once while rows are added and
 * deleted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage } from '#providers/port.ts'
import type { SharedWalks } from '#store/ports/kv.ts'
import {
  aCall,
  makePagedWorld,
  makeSharedWalks,
  type PagedRow,
  type PagedWorld,
  type Paging,
} from '#tests/support/paged.ts'
import type { Walk } from './walk.ts'
import { makeWalk } from './walk.ts'
import { openWalks } from './walk-cache.ts'
import type { WalkSource } from './walk-state.ts'

const ttlMs = 60_000

/** Starts a process of the service that answers windows of the single query. */
function startProcess(
  world: PagedWorld & Pick<WalkSource<RowPage<PagedRow>>, 'keyOf'>,
  maxPageBytes: number,
  shared: SharedWalks | null,
) {
  const walks = openWalks({
    maxPageBytes,
    maxIndexBytes: 2 ** 22,
    clock: { now: () => 0 },
    shared,
  })
  let held: Walk<PagedRow> | null = null
  return {
    async window(offset: number, limit: number, pageCap: number | null) {
      const walk = walks.open('query', ttlMs, (place) =>
        makeWalk(world, { ...place, provider: 'fiskil' }),
      )
      held = walk
      try {
        const request = { offset, limit, pageCap, confirmEnd: async () => undefined }
        return await walk.window(request, aCall())
      } finally {
        walks.keep('query', walk)
      }
    },
    size: () => held?.size() ?? 0,
    close: () => walks.close(),
  }
}

let made = 0
const makeRow = (time: number, foreign = false): PagedRow => {
  made += 1
  return { id: `row-${made}`, time, foreign }
}

const streamArbitrary = fc
  .array(fc.record({ step: fc.integer({ min: 0, max: 2 }), foreign: fc.boolean() }), {
    maxLength: 50,
  })
  .map((steps) => {
    let time = 1_000_000
    return steps.map(({ step, foreign }) => {
      time -= step
      return makeRow(time, foreign && step === 0)
    })
  })

type Event =
  | { readonly kind: 'read'; readonly reader: number; readonly process: number }
  | { readonly kind: 'arrive'; readonly stream: number; readonly count: number }
  | { readonly kind: 'go'; readonly stream: number; readonly at: number }

const readEvent = fc.record({
  kind: fc.constant('read' as const),
  reader: fc.nat(2),
  process: fc.nat(1),
})
const arriveEvent = fc.record({
  kind: fc.constant('arrive' as const),
  stream: fc.nat(2),
  count: fc.integer({ min: 1, max: 7 }),
})
const goEvent = fc.record({ kind: fc.constant('go' as const), stream: fc.nat(2), at: fc.nat(49) })

const scenario = (pagings: readonly Paging[], events: fc.Arbitrary<Event>) =>
  fc.record({
    streams: fc.array(streamArbitrary, { minLength: 1, maxLength: 3 }),
    paging: fc.constantFrom(...pagings),
    pageSize: fc.integer({ min: 3, max: 12 }),
    limits: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 3, maxLength: 3 }),
    pageCap: fc.option(fc.integer({ min: 1, max: 4 })),
    maxBytes: fc.constantFrom(0, 2000, 8000, 2 ** 20),
    events: fc.array(events, { maxLength: 40 }),
    /** A row arrives before each of these page reads. */
    arrivals: fc.array(fc.nat(30), { maxLength: 2 }),
    /** A row is deleted before each of these page reads. */
    departures: fc.array(fc.record({ read: fc.nat(60), at: fc.nat(49) }), { maxLength: 3 }),
  })

type Scenario = ReturnType<typeof scenario> extends fc.Arbitrary<infer Given> ? Given : never

interface Reader {
  readonly limit: number
  readonly rows: string[]
  offset: number
  windows: number
  done: boolean
}

/** Wraps the reader and records the rows that it reads, except those that arrived after the first read. */
function watchRows({ reader }: PagedWorld, late: ReadonlySet<string>) {
  const known = new Set<string>()
  const watched: PagedWorld['reader'] = {
    ...reader,
    async read(query, cursor, context) {
      const page = await reader.read(query, cursor, context)
      for (let index = 0; index < page.length; index += 1) {
        const id = page.head(index)?.id
        if (id !== undefined && !late.has(id)) known.add(id)
      }
      return page
    },
  }
  return { reader: watched, known }
}

/** Runs the events, then lets every reader finish; returns what each has seen. */
async function play(given: Scenario, processes: number) {
  const streams = given.streams.map((rows) => [...rows])
  const world = makePagedWorld({ ...given, streams, bodyBytes: 500 })
  const late = new Set<string>()
  const { reader: watched, known } = watchRows(world, late)
  const shared = processes > 1 ? makeSharedWalks() : null
  const services = Array.from({ length: processes }, () =>
    startProcess({ ...world, reader: watched }, given.maxBytes, shared),
  )
  const initial = streams.flat()
  const gone = new Set<string>()
  let arrived = 0
  world.onRead = () => {
    if (given.arrivals.includes(world.reads.length)) streams[0]?.unshift(makeRow(2_000_000))
    for (const { read, at } of given.departures) {
      if (read !== world.reads.length) continue
      const rows = streams[0] ?? []
      if (rows.length < 2 || at >= rows.length) continue
      for (const row of rows.splice(at, 1)) gone.add(row.id)
    }
  }
  const readers = given.limits.map(
    (limit): Reader => ({
      limit,
      rows: [],
      offset: 0,
      windows: 0,
      done: false,
    }),
  )

  async function read(reader: Reader, process: number): Promise<void> {
    if (reader.done) return
    const service = services[process % processes]
    assert(service !== undefined)
    // Numbered pages that shift during a read and again during the restart give 503, and are requested again.
    for (let tries = 0; ; tries += 1) {
      try {
        const window = await service.window(reader.offset, reader.limit, given.pageCap)
        reader.rows.push(...window.rows.map(({ row }) => row.id))
        reader.offset += window.places
        reader.windows += 1
        reader.done = window.complete && reader.offset >= window.seen
        return
      } catch (error) {
        assert(error instanceof UpstreamError && error.failure.kind === 'malformed', String(error))
        assert(tries < 8, 'a window is answered in the end')
      }
    }
  }

  for (const event of given.events) {
    if (event.kind === 'read') {
      const reader = readers[event.reader]
      assert(reader !== undefined)
      await read(reader, event.process)
    } else {
      const rows = streams[event.stream % streams.length] ?? []
      if (event.kind === 'arrive') {
        arrived += event.count
        // A walk searches six pages at most for moved rows, so no more than five pages of rows arrive.
        if (arrived > given.pageSize * 5) continue
        for (let count = 0; count < event.count; count += 1) {
          const row = makeRow(2_000_000)
          if (world.reads.length > 0) late.add(row.id)
          rows.unshift(row)
        }
      } else {
        const rest = rows.filter(({ id }, index) => known.has(id) && index !== event.at)
        // When a cap leaves rows unread and all read rows are deleted, unread rows cannot be distinguished from new ones: a
        // new walk starts.
        const isLast = rest.length === 0 && known.has(rows[event.at]?.id ?? '')
        if (given.pageCap !== null && isLast) continue
        for (const row of rows.splice(event.at, 1)) gone.add(row.id)
      }
    }
  }
  for (let round = 0; readers.some(({ done }) => !done); round += 1) {
    assert(round < 500, 'every reader gets on')
    for (const [index, reader] of readers.entries()) await read(reader, index + round)
  }
  for (const service of services) service.close()
  return { initial, gone, readers }
}

function assertOnce(reader: Reader, rows: readonly PagedRow[]): void {
  assert.equal(new Set(reader.rows).size, reader.rows.length, 'no row twice')
  const seen = new Set(reader.rows)
  for (const { id } of rows) assert(seen.has(id), `${id} was never shown`)
}

const pagings: readonly Paging[] = ['after', 'number', 'hidden']

const read = (reader: number): Event => ({ kind: 'read', reader, process: 0 })
const arrive = (count: number): Event => ({ kind: 'arrive', stream: 0, count })
const go: Event = { kind: 'go', stream: 0, at: 0 }

/** Numbered pages without bodies in memory: rows move up to a page before the one that last had them. */
function makeRise(given: Pick<Scenario, 'limits' | 'pageSize' | 'events'>, rows: number): Scenario {
  const streams = [Array.from({ length: rows }, () => makeRow(1_000_000)), []]
  return {
    ...given,
    streams,
    paging: 'number',
    pageCap: null,
    maxBytes: 0,
    arrivals: [],
    departures: [],
  }
}

const rises: readonly Scenario[] = [
  // Rows that were pushed off the last page, and return to it.
  makeRise({ limits: [2, 1, 2], pageSize: 7, events: [read(0), arrive(6), read(2), go] }, 3),
  // Up by more than two pages.
  makeRise({ limits: [7, 20, 20], pageSize: 3, events: [read(0), go, go, go, go, go, go, go] }, 12),
]

/** The only row of one account is deleted; the rows of another keep their places. */
const lone: Scenario = {
  streams: [[makeRow(1_000_000)], [makeRow(1_000_000), makeRow(1_000_000)]],
  ...{
    paging: 'after',
    pageSize: 3,
    limits: [1, 1, 1],
    pageCap: null,
    maxBytes: 0,
    arrivals: [],
    departures: [],
  },
  events: [read(0), go],
}

/** A row is deleted between two pages of one search, and pulls another over their border: for one process, and for two. */
const pulled: readonly Scenario[] = [
  {
    ...makeRise({ limits: [4, 1, 1], pageSize: 3, events: [read(1), arrive(4), read(1)] }, 6),
    departures: [{ read: 11, at: 0 }],
  },
  {
    ...makeRise({ limits: [1, 1, 1], pageSize: 10, events: [read(1), arrive(10), read(1)] }, 1),
    streams: [[makeRow(1_000_000)], [makeRow(1_000_000)]],
    departures: [{ read: 5, at: 0 }],
  },
]

for (const processes of [1, 2]) {
  test(`R18: over ${processes} process(es), any readers see the same rows, each once, while rows arrive`, async () => {
    const events = fc.oneof({ weight: 4, arbitrary: readEvent }, arriveEvent)
    await fc.assert(
      fc.asyncProperty(scenario(pagings, events), async (given) => {
        const { initial, readers } = await play({ ...given, departures: [] }, processes)
        const wanted = initial.filter(({ foreign }) => !foreign)
        for (const reader of readers) {
          assertOnce(reader, wanted)
        }
        // A window with all rows needs no other window, so its walk is not shared.
        const [first, ...others] = readers.filter(({ windows }) => windows > 1)
        for (const { rows } of others) assert.deepEqual(rows, first?.rows, 'one snapshot for all')
      }),
      { numRuns: 150 },
    )
  })

  test(`R18: over ${processes} process(es), deleted rows cause no other row to be skipped or shown twice`, async () => {
    const events = fc.oneof({ weight: 6, arbitrary: readEvent }, arriveEvent, goEvent)
    await fc.assert(
      fc.asyncProperty(scenario(['after', 'number'], events), async (given) => {
        const { initial, gone, readers } = await play(
          { ...given, arrivals: [], departures: [] },
          processes,
        )
        const stayed = initial.filter(({ id, foreign }) => !foreign && !gone.has(id))
        for (const reader of readers) assertOnce(reader, stayed)
      }),
      { numRuns: 150, examples: [...rises, lone].map((given) => [given]) },
    )
  })
}

for (const processes of [1, 2])
  test(`R18: over ${processes} process(es), rows that are deleted while numbered pages are read cause no other row to be skipped or shown twice`, async () => {
    const events = fc.oneof({ weight: 6, arbitrary: readEvent }, arriveEvent)
    await fc.assert(
      fc.asyncProperty(scenario(['number'], events), async (given) => {
        const { initial, gone, readers } = await play({ ...given, pageCap: null }, processes)
        const stayed = initial.filter(({ id, foreign }) => !foreign && !gone.has(id))
        for (const reader of readers) assertOnce(reader, stayed)
      }),
      { numRuns: 150, examples: pulled.map((given) => [given]) },
    )
  })

test('R24a: identical fills are numbered the same whichever pages are in memory, in one process or in two', async () => {
  const fills = fc.array(fc.record({ step: fc.nat(1), what: fc.constantFrom('x', 'y') }), {
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(
      fills,
      fc.integer({ min: 3, max: 12 }),
      fc.integer({ min: 1, max: 9 }),
      async (list, pageSize, limit) => {
        let time = 1000
        const rows = list.map(({ step, what }, index): PagedRow => {
          time -= step
          return { id: `${what}${index}`, time, foreign: false }
        })
        const world = makePagedWorld({ streams: [rows], paging: 'number', pageSize })
        const keyOf = (page: RowPage<PagedRow>, index: number) => {
          const row = page.map(index)
          return `${row.time}${row.id[0]}`
        }
        const shared = makeSharedWalks()
        const services = [1, 2].map(() => startProcess({ ...world, keyOf }, 0, shared))
        const counts = new Map<string, number>()
        const expected = rows.map((row) => {
          const key = `${row.time}${row.id[0]}`
          counts.set(key, (counts.get(key) ?? 0) + 1)
          return `${row.id}-${counts.get(key)}`
        })
        const seen: string[] = []
        for (let round = 0; seen.length < rows.length; round += 1) {
          const window = await services[round % 2]?.window(seen.length, limit, 1)
          seen.push(...(window?.rows ?? []).map(({ row, copy }) => `${row.id}-${copy}`))
          assert(round < 200)
        }
        for (const service of services) service.close()
        assert.deepEqual(seen, expected)
      },
    ),
    { numRuns: 200 },
  )
})

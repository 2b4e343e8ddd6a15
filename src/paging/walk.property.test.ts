import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { aCall, makePagedQuery } from '#tests/support/paged.ts'
import { makePageMemory } from './page-memory.ts'
import { makeWalk } from './walk.ts'
import type { WalkSource } from './walk-state.ts'

interface Row {
  readonly id: string
  readonly time: number
  /** Of another account or pending: read, never shown. */
  readonly foreign: boolean
}

const confirmEnd = async () => undefined

function begin<Page extends RowPage<unknown>>(
  source: WalkSource<Page>,
  provider: Provider = 'snaptrade',
  maxBytes = 2 ** 25,
) {
  const memory = makePageMemory(maxBytes)
  return makeWalk(source, { provider, memory, shared: null, expiresAt: 0 })
}

/** A provider with `pages` per account: cursors are page numbers; numbered ones are known in advance. */
function makeReader(streams: readonly (readonly (readonly Row[])[])[], numbered: boolean) {
  const reads: string[] = []
  const queries = streams.map((_rows, index) => makePagedQuery(index))
  function page(query: RowsQuery, cursor: string | null): RowPage<Row> {
    const pages = streams[queries.indexOf(query)] ?? []
    const number = Number(cursor ?? '0')
    const rows = pages[number] ?? []
    const rest = pages.slice(number + 1).map((_rows, index) => String(number + 1 + index))
    const account = query.accounts[0]
    assert(account !== undefined)
    return {
      length: rows.length,
      next: rest[0] ?? null,
      ahead: numbered ? rest.slice(1) : [],
      total: null,
      ownRows: rows.filter((row) => !row.foreign).length,
      body: Buffer.from(JSON.stringify(rows)),
      head(index) {
        const row = rows[index]
        assert(row !== undefined)
        return row.foreign ? null : { id: row.id, account, time: row.time }
      },
      map(index) {
        const row = rows[index]
        assert(row !== undefined)
        return row
      },
    }
  }
  const reader: RowReader<RowPage<Row>> = {
    pageSize: 10,
    async read(query, cursor) {
      reads.push(`${queries.indexOf(query)}:${cursor ?? '0'}`)
      await Promise.resolve()
      return page(query, cursor)
    },
    open: (query, cursor) => page(query, cursor),
  }
  return { reader, queries, reads }
}

/** Pages of rows, newest first, some empty, some with unwanted rows. */
const pagesArbitrary = (name: string) =>
  fc
    .array(
      fc.array(fc.record({ step: fc.integer({ min: 0, max: 3 }), foreign: fc.boolean() }), {
        maxLength: 12,
      }),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    .map((pages) => {
      let time = 1_000_000
      let count = 0
      return pages.map((rows) =>
        rows.map(({ step, foreign }): Row => {
          time -= step
          count += 1
          return { id: `${name}${count}`, time, foreign }
        }),
      )
    })

test('R18: a walk over all windows shows each row exactly once, under any page sizes and caps', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
        .chain((names) =>
          fc.tuple(...names.map((name, index) => pagesArbitrary(`${name}${index}-`))),
        ),
      fc.boolean(),
      fc.integer({ min: 1, max: 17 }),
      fc.option(fc.integer({ min: 1, max: 4 })),
      async (streams, numbered, limit, pageCap) => {
        const { reader, queries, reads } = makeReader(streams, numbered)
        const walk = begin({ reader, queries }, 'snaptrade')
        const seen: Row[] = []
        for (let round = 0; ; round += 1) {
          assert(round < 2000, 'the walk gets on')
          const window = await walk.window(
            { offset: seen.length, limit, pageCap, confirmEnd },
            aCall(),
          )
          seen.push(...window.rows.map(({ row }) => row))
          assert(window.seen >= seen.length)
          if (window.complete && seen.length === window.seen) break
        }
        const wanted = streams.flat(2).filter((row) => !row.foreign)
        assert.deepEqual(seen.map((row) => row.id).sort(), wanted.map((row) => row.id).sort())
        assert.equal(new Set(reads).size, reads.length, 'R19: no page is read twice')
        for (const [index, row] of seen.entries()) {
          const next = seen[index + 1]
          assert(next === undefined || next.time <= row.time, 'R16: merged newest first')
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('R16: rows keep the order of the provider and are never sorted', async () => {
  const rows = [3, 9, 1, 7].map((time): Row => ({ id: String(time), time, foreign: false }))
  const { reader, queries } = makeReader([[rows]], false)
  const window = await begin({ reader, queries }, 'fiskil').window(
    { offset: 0, limit: 10, pageCap: null, confirmEnd },
    aCall(),
  )
  assert.deepEqual(
    window.rows.map(({ row }) => row.time),
    [3, 9, 1, 7],
  )
})

test('R17: pages are read to the end although the window is full long before', async () => {
  const pages = Array.from({ length: 5 }, (_page, page) =>
    Array.from(
      { length: 10 },
      (_row, row): Row => ({ id: `${page}.${row}`, time: -page, foreign: false }),
    ),
  )
  const { reader, queries, reads } = makeReader([pages], false)
  const walk = begin({ reader, queries }, 'fiskil')
  const window = await walk.window({ offset: 0, limit: 3, pageCap: null, confirmEnd }, aCall())
  assert.deepEqual(
    [window.rows.length, window.seen, window.complete, reads.length],
    [3, 50, true, 5],
  )
})

test('R17: the ceiling stops the reading about 5,000 rows past the offset, R18: skipped rows do not count', async () => {
  const pages = Array.from({ length: 12 }, (_page, page) =>
    Array.from(
      { length: 1000 },
      (_row, row): Row => ({ id: `${page}.${row}`, time: -page, foreign: false }),
    ),
  )
  const { reader, queries, reads } = makeReader([pages], false)
  const walk = begin({ reader, queries }, 'fiskil')
  const first = await walk.window({ offset: 0, limit: 500, pageCap: null, confirmEnd }, aCall())
  assert.deepEqual([first.seen, first.complete, reads.length], [5000, false, 5])
  const second = await walk.window({ offset: 500, limit: 500, pageCap: null, confirmEnd }, aCall())
  assert.deepEqual([second.seen, second.complete, reads.length], [6000, false, 6])
  assert.equal(second.rows[0]?.row.id, '0.500')
})

test('a row that the provider sends twice within one read is shown once', async () => {
  const row = (id: string): Row => ({ id, time: 0, foreign: false })
  const { reader, queries } = makeReader(
    [
      [
        [row('a'), row('b')],
        [row('b'), row('c')],
      ],
    ],
    false,
  )
  const walk = begin({ reader, queries }, 'fiskil')
  const window = await walk.window({ offset: 0, limit: 10, pageCap: null, confirmEnd }, aCall())
  assert.deepEqual(
    window.rows.map((entry) => entry.row.id),
    ['a', 'b', 'c'],
  )
})

test('pages that form a cycle are an unreadable answer, not an endless read', async () => {
  const { reader, queries } = makeReader([[[{ id: 'a', time: 0, foreign: false }], []]], false)
  const circular: typeof reader = {
    ...reader,
    read: async (query, cursor, context) => ({
      ...(await reader.read(query, cursor, context)),
      next: '1',
    }),
  }
  const walk = begin({ reader: circular, queries }, 'akahu')
  await assert.rejects(
    walk.window({ offset: 0, limit: 10, pageCap: null, confirmEnd }, aCall()),
    (error) => error instanceof UpstreamError && error.failure.kind === 'malformed',
  )
})

test('R24a: the second and later of identical fills are numbered, the same in every window', async () => {
  const pages = [
    ['x', 'y', 'x'],
    ['x', 'y', 'z'],
  ].map((keys, page) =>
    keys.map((key, row): Row => ({ id: `${key}${page}${row}`, time: 0, foreign: false })),
  )
  const { reader, queries } = makeReader([pages], false)
  const source = {
    reader,
    queries,
    keyOf: (page: RowPage<Row>, index: number) => page.map(index).id[0] ?? '',
  }
  const named = async (offset: number, limit: number) =>
    (await begin(source).window({ offset, limit, pageCap: null, confirmEnd }, aCall())).rows.map(
      ({ row, copy }) => `${row.id[0]}${copy}`,
    )
  assert.deepEqual(await named(0, 10), ['x1', 'y1', 'x2', 'x3', 'y2', 'z1'])
  assert.deepEqual(await named(3, 2), ['x3', 'y2'])
})

test('R20b: streams without a row of the connection are doubted only when all of them are', async () => {
  const row: Row = { id: 'a', time: 0, foreign: false }
  const isDoubted = async (streams: readonly (readonly (readonly Row[])[])[]) => {
    const { reader, queries } = makeReader(streams, false)
    let asked = 0
    const count = async () => {
      asked += 1
    }
    const window = { offset: 0, limit: 10, pageCap: null, confirmEnd: count }
    await begin({ reader, queries }).window(window, aCall())
    return asked === 1
  }
  assert.equal(await isDoubted([[[row]], [[]]]), false)
  assert.equal(await isDoubted([[[]], [[row]]]), false)
  assert.equal(await isDoubted([[[]], [[]]]), true)
  assert.equal(await isDoubted([]), true)
  assert.equal(await isDoubted([[[row], []]]), true)
  assert.equal(await isDoubted([[[row], [{ ...row, foreign: true }]]]), true)
  assert.equal(await isDoubted([[[row], [], [{ ...row, id: 'b' }]]]), false)
})

test('a closed walk first answers pending requests, then frees its memory', async () => {
  const rows = Array.from({ length: 3 }, (_row, index): Row => {
    return { id: `a${index}`, time: -index, foreign: false }
  })
  const { reader, queries } = makeReader([[rows, rows.slice(0, 0)]], false)
  const bodies: Uint8Array[] = []
  const watched: typeof reader = {
    ...reader,
    async read(query, cursor, context) {
      const page = await reader.read(query, cursor, context)
      // A separate memory block, as for a provider's page; small buffers share one.
      const body = new Uint8Array(64)
      bodies.push(body)
      return { ...page, body }
    },
  }
  const walk = begin({ reader: watched, queries }, 'snaptrade')
  const windows = [0, 2].map((offset) =>
    walk
      .window({ offset, limit: 2, pageCap: null, confirmEnd }, aCall())
      .then(({ rows: shown }) => {
        return shown.map(({ row }) => row.id)
      }),
  )
  walk.close()
  assert.deepEqual(await Promise.all(windows), [['a0', 'a1'], ['a2']])
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    bodies.map((body) => body.length),
    bodies.map(() => 0),
  )
  assert(bodies.length > 0)
  assert.throws(
    () => walk.window({ offset: 0, limit: 2, pageCap: null, confirmEnd }, aCall()),
    /closed/,
  )
})

test('R17: a walk larger than its memory continues, and fetches again only the pages that a window shows', async () => {
  const pageCount = 8
  const pages = Array.from({ length: pageCount }, (_page, page) =>
    Array.from({ length: 10 }, (_row, row): Row => {
      return { id: `a${page}-${row}`, time: -(page * 10 + row), foreign: false }
    }),
  )
  const { reader, queries, reads } = makeReader([pages], false)
  const large: typeof reader = {
    ...reader,
    async read(query, cursor, context) {
      const page = await reader.read(query, cursor, context)
      return { ...page, body: new Uint8Array(4 * 1024 * 1024) }
    },
  }
  const walk = begin({ reader: large, queries }, 'fiskil', 12 * 1024 * 1024)
  const seen: string[] = []
  for (let offset = 0; offset < 80; offset += 20) {
    const before = reads.length
    const window = await walk.window({ offset, limit: 20, pageCap: null, confirmEnd }, aCall())
    seen.push(...window.rows.map(({ row }) => row.id))
    assert(
      reads.length - before <= (offset === 0 ? pageCount : 2),
      `${reads.length - before} pages`,
    )
  }
  assert.deepEqual(
    seen,
    pages.flat().map((row) => row.id),
  )
  const before = reads.length
  const first = await walk.window({ offset: 0, limit: 20, pageCap: null, confirmEnd }, aCall())
  assert.deepEqual(
    first.rows.map(({ row }) => row.id),
    seen.slice(0, 20),
  )
  assert(reads.length - before <= 2)
})

test('R20b: a confirmed end is not checked again, and neither is an end that was not reached', async () => {
  const { reader, queries } = makeReader([[[], []]], false)
  const walk = begin({ reader, queries })
  let asked = 0
  const count = async () => {
    asked += 1
  }
  for (const [pageCap, expected] of [
    [1, 0],
    [null, 1],
    [null, 1],
  ] as const) {
    await walk.window({ offset: 0, limit: 10, pageCap, confirmEnd: count }, aCall())
    assert.equal(asked, expected)
  }
})

/**
 * A walk reads the provider's pages of one query from the newest row on, and answers any window of what it has read.
 * It keeps the pages' bodies and, per page, which rows are wanted; rows are mapped only when a window shows them. The
 * ceiling and the page cap live here, once, for transactions and trades alike (readings R16 to R19, R23, R24a). It
 * never sorts: several streams (accounts) are merged by time, each keeping its own order.
 */

import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, PageCursor, RowPage, RowReader, RowsQuery } from '#providers/port.ts'

/** Specification, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** Numbered pages are read this many at once (architecture, the reading river). */
const pagesInFlight = 4
/** A provider that never ends is broken: no request reads more pages than this. */
const maxPages = 2000

interface StoredPage<Page> {
  readonly cursor: PageCursor | null
  readonly body: Uint8Array
  /** Rows of the page that match the query, in its order. */
  readonly wanted: Int32Array
  /** When each of them counts. */
  readonly times: Float64Array
  /** For trades: 1 for the first of identical fills, 2, 3 … for the later ones (reading R24a). */
  readonly copies: Int32Array | null
  /** Kept only while the request that reads or shows it lasts. */
  parsed: Page | null
}

interface Stream<Page> {
  readonly query: RowsQuery
  readonly pages: StoredPage<Page>[]
  /** Cursors still to be read, next first; empty at the end. */
  ahead: (PageCursor | null)[]
  readonly seenCursors: Set<PageCursor | null>
  readonly seenRows: Set<string>
  readonly copies: Map<string, number>
  ownRows: number
  /** The next row to be merged. */
  page: number
  row: number
}

/**
 * Where a merged row stands: stream, page and row packed into one number. A walk holds thousands of them, and plain
 * numbers cost the collector nothing.
 */
type Place = number
const rowsPerPage = 2 ** 20
const pagesPerStream = 2 ** 20
const toPlace = (stream: number, page: number, row: number): Place =>
  (stream * pagesPerStream + page) * rowsPerPage + row

/** The kind of row that a kind of page holds. */
export type RowOf<Page extends RowPage<unknown>> = ReturnType<Page['map']>

export interface WalkSource<Page extends RowPage<unknown>> {
  readonly provider: Provider
  readonly reader: RowReader<Page>
  /** One per stream; equal times are merged in this order. */
  readonly queries: readonly RowsQuery[]
  /** The bare id whose repetitions are numbered; absent: rows are shown as they are. */
  readonly keyOf?: (page: Page, index: number) => string
}

export interface WindowRequest {
  readonly offset: number
  readonly limit: number
  /** Pages that this request may read from the provider; shared ones do not count (reading R17). */
  readonly pageCap: number | null
}

export interface WalkWindow<Row> {
  readonly rows: readonly { readonly row: Row; readonly copy: number }[]
  /** Matching rows seen so far: exact when `complete`, else a lower bound. */
  readonly seen: number
  /** The provider has no more. */
  readonly complete: boolean
}

export interface Walk<Row> {
  /** Reads on as far as the window needs, then maps its rows. One request at a time. */
  window(request: WindowRequest, call: CallContext): Promise<WalkWindow<Row>>
  /**
   * No stream at all, or one that ended without a single row of the connection: an emptiness to be doubted (reading
   * R20b).
   */
  hasEmptyStream(): boolean
  /** True once a page was read: then a failure may come from a cursor that has grown too old. */
  isResumed(): boolean
  /** Bytes held. */
  size(): number
}

/** Starts at the newest row; nothing is read before the first window is asked for. */
export function makeWalk<Page extends RowPage<unknown>>(
  source: WalkSource<Page>,
): Walk<RowOf<Page>> {
  const streams = source.queries.map(
    (query): Stream<Page> => ({
      query,
      pages: [],
      ahead: [null],
      seenCursors: new Set([null]),
      seenRows: new Set(),
      copies: new Map(),
      ownRows: 0,
      page: 0,
      row: 0,
    }),
  )
  const merged: Place[] = []
  let bytes = 0
  let pagesRead = 0

  const isDone = () => streams.every((stream) => stream.ahead.length === 0)

  function malformed(detail: string): UpstreamError {
    return new UpstreamError(source.provider, { kind: 'malformed', detail })
  }

  /** Takes a page in: which rows are wanted, and what comes after it. */
  function append(stream: Stream<Page>, cursor: PageCursor | null, page: Page): void {
    const found = new Int32Array(page.length)
    const seenAt = new Float64Array(page.length)
    let count = 0
    const from = stream.query.window.from ?? Number.NEGATIVE_INFINITY
    const to = stream.query.window.to ?? Number.POSITIVE_INFINITY
    for (let index = 0; index < page.length; index += 1) {
      const head = page.head(index)
      if (head === null || head.time < from || head.time > to) continue
      if (stream.seenRows.has(head.id)) continue
      stream.seenRows.add(head.id)
      found[count] = index
      seenAt[count] = head.time
      count += 1
    }
    const wanted = found.slice(0, count)
    const times = seenAt.slice(0, count)
    const copies = source.keyOf === undefined ? null : countCopies(stream, page, wanted)
    stream.pages.push({ cursor, body: page.body, wanted, times, copies, parsed: page })
    stream.ownRows += page.ownRows
    bytes += page.body.length + wanted.length * 96
    pagesRead += 1
    stream.ahead = page.next === null ? [] : [page.next, ...page.ahead]
    if (page.next !== null && stream.seenCursors.has(page.next)) {
      throw malformed('the pages go round in a circle')
    }
    stream.seenCursors.add(page.next)
  }

  /** Numbers identical fills, in the provider's order from the first row of the read (reading R24a). */
  function countCopies(stream: Stream<Page>, page: Page, wanted: Int32Array): Int32Array {
    return wanted.map((index) => {
      const key = source.keyOf?.(page, index) ?? ''
      const copy = (stream.copies.get(key) ?? 0) + 1
      stream.copies.set(key, copy)
      return copy
    })
  }

  /** Moves rows into the merged order as far as it is certain: while every unfinished stream has a row to compare. */
  function merge(): void {
    for (;;) {
      let best: number | null = null
      let bestTime = Number.NEGATIVE_INFINITY
      for (let index = 0; index < streams.length; index += 1) {
        const stream = streams[index]
        if (stream === undefined) continue
        while (
          (stream.pages[stream.page]?.wanted.length ?? Number.POSITIVE_INFINITY) <= stream.row
        ) {
          stream.page += 1
          stream.row = 0
        }
        const time = stream.pages[stream.page]?.times[stream.row]
        if (time === undefined) {
          if (stream.ahead.length > 0) return
        } else if (best === null || time > bestTime) {
          best = index
          bestTime = time
        }
      }
      const stream = best === null ? undefined : streams[best]
      if (best === null || stream === undefined) return
      merged.push(toPlace(best, stream.page, stream.row))
      stream.row += 1
    }
  }

  function at(place: Place): { stream: Stream<Page>; page: StoredPage<Page>; row: number } {
    const above = Math.floor(place / rowsPerPage)
    const stream = streams[Math.floor(above / pagesPerStream)]
    const page = stream?.pages[above % pagesPerStream]
    if (stream === undefined || page === undefined) throw new Error('a merged row has no page')
    return { stream, page, row: place % rowsPerPage }
  }

  /** Pages that are still to be mapped stay parsed; the others are dropped as soon as they are counted. */
  function dropParsed(from: number, until: number): void {
    const needed = new Set<StoredPage<Page>>()
    for (const place of merged.slice(from, until)) needed.add(at(place).page)
    for (const stream of streams) {
      for (const [index, page] of stream.pages.entries()) {
        const isMerged =
          index < stream.page || (index === stream.page && stream.row >= page.wanted.length)
        if (page.parsed !== null && isMerged && !needed.has(page)) page.parsed = null
      }
    }
  }

  /** Reads one stream's next page, and the numbered ones after it as far as they will surely be wanted. */
  async function readPages(
    stream: Stream<Page>,
    budget: { pages: number },
    rowsWanted: number,
    call: CallContext,
  ): Promise<void> {
    const useful = Math.max(1, Math.ceil(rowsWanted / source.reader.pageSize))
    const count = Math.min(stream.ahead.length, pagesInFlight, useful, budget.pages)
    const cursors = stream.ahead.slice(0, count)
    const surplus = new AbortController()
    const linked: CallContext = { ...call, signal: AbortSignal.any([call.signal, surplus.signal]) }
    const reads = cursors.map((cursor) => source.reader.read(stream.query, cursor, linked))
    // Whatever is not awaited below (a page failed before it) must not end the process.
    for (const read of reads) read.catch(() => undefined)
    try {
      for (const [index, read] of reads.entries()) {
        const cursor = cursors[index] ?? null
        // A page may name another successor than the numbers promised (rows moved): then the rest is read anew.
        if (index > 0 && stream.ahead[0] !== cursor) return
        append(stream, cursor, await read)
        budget.pages -= 1
      }
    } finally {
      surplus.abort()
    }
  }

  async function readUntil(request: WindowRequest, call: CallContext): Promise<void> {
    const target = request.offset + rowCeiling
    const budget = { pages: Math.min(request.pageCap ?? maxPages, maxPages) }
    merge()
    while (!isDone() && merged.length < target && budget.pages > 0) {
      // The stream that holds the merge up: the first unfinished one without a row to compare.
      const waiting = streams.filter(
        (stream) => stream.ahead.length > 0 && stream.pages.length <= stream.page,
      )
      const share = Math.max(1, Math.floor(pagesInFlight / Math.max(1, waiting.length)))
      const batch = waiting.slice(0, Math.min(pagesInFlight, budget.pages))
      const rowsWanted = Math.min(target - merged.length, share * source.reader.pageSize)
      await allOrFirstFailure(batch.map((stream) => readPages(stream, budget, rowsWanted, call)))
      merge()
      dropParsed(request.offset, request.offset + request.limit)
    }
  }

  function show(offset: number, limit: number): WalkWindow<RowOf<Page>>['rows'] {
    return merged.slice(offset, offset + limit).map((place) => {
      const { stream, page, row } = at(place)
      page.parsed ??= source.reader.open(stream.query, page.cursor, page.body)
      const index = page.wanted[row] ?? -1
      return { row: page.parsed.map(index) as RowOf<Page>, copy: page.copies?.[row] ?? 1 }
    })
  }

  let turn: Promise<unknown> = Promise.resolve()

  async function window(
    request: WindowRequest,
    call: CallContext,
  ): Promise<WalkWindow<RowOf<Page>>> {
    try {
      await readUntil(request, call)
      return { rows: show(request.offset, request.limit), seen: merged.length, complete: isDone() }
    } finally {
      for (const stream of streams) for (const page of stream.pages) page.parsed = null
    }
  }

  return {
    window(request, call) {
      const mine = turn.then(() => {
        call.signal.throwIfAborted()
        return window(request, call)
      })
      turn = mine.catch(() => undefined)
      return mine
    },
    hasEmptyStream: () =>
      streams.length === 0 ||
      streams.some((stream) => stream.ahead.length === 0 && stream.ownRows === 0),
    isResumed: () => pagesRead > 0,
    size: () => bytes,
  }
}

/** Like Promise.all, but waits for the stragglers, so that nothing changes the walk behind the next request's back. */
async function allOrFirstFailure(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * A walk reads the provider's pages of one query from the newest row on, and answers any window of what it has read.
 * It keeps the pages' bodies and, per page, which rows are wanted; rows are mapped only when a window shows them. The
 * ceiling and the page cap live here, once, for transactions and trades alike (readings R16 to R19, R23, R24a). It
 * never sorts: several streams (accounts) are merged by time, each keeping its own order.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallContext, RowPage, RowsQuery } from '#providers/port.ts'
import {
  makeRowStream,
  pagesInFlight,
  type RowStream,
  type StoredPage,
  type StreamSource,
} from './row-stream.ts'

/** Specification, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** A provider that never ends is broken: no request reads more pages than this. */
const maxPages = 2000
/** A walk that holds more lets go of the pages that it has passed: it must be kept as a whole, or it would not get on. */
const roomyBytes = 8 * 1024 * 1024

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

export interface WalkSource<Page extends RowPage<unknown>> extends StreamSource<Page> {
  /** One per stream; equal times are merged in this order. */
  readonly queries: readonly RowsQuery[]
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
  /**
   * Reads on as far as the window needs, then maps its rows. One request at a time. Throws PassedPage for a window of rows
   * that a long walk has let go of.
   */
  window(request: WindowRequest, call: CallContext): Promise<WalkWindow<Row>>
  /**
   * No stream at all, or one that ended without a single row of the connection: an emptiness to be doubted (reading
   * R20b), until it is believed or another page was read.
   */
  hasEmptyStream(): boolean
  /** The provider stands by the emptiness. */
  believe(): void
  /** True once a page was read: then a failure may come from a cursor that has grown too old. */
  isResumed(): boolean
  /** Bytes held. */
  size(): number
  /** Nobody will ask for a window any more: gives its memory back as soon as those asked for are answered. */
  close(): void
}

/** Starts at the newest row; nothing is read before the first window is asked for. */
export function makeWalk<Page extends RowPage<unknown>>(
  source: WalkSource<Page>,
): Walk<RowOf<Page>> {
  const streams = source.queries.map((query) => makeRowStream(source, query))
  const merged: Place[] = []
  let believed = false

  const isDone = () => streams.every((stream) => stream.isDone())

  /** The stream whose next row is the newest; null when there is none, or none can be told before more is read. */
  function findNewest(shown: ReadonlySet<StoredPage<Page>>): number | null {
    let best: number | null = null
    let bestTime = Number.NEGATIVE_INFINITY
    for (let index = 0; index < streams.length; index += 1) {
      const stream = streams[index]
      if (stream === undefined) continue
      skipUsedPages(stream, shown)
      const time = stream.pages[stream.page]?.times[stream.row]
      if (time === undefined) {
        if (!stream.isDone()) return null
      } else if (best === null || time > bestTime) {
        best = index
        bestTime = time
      }
    }
    return best
  }

  /**
   * Moves rows into the merged order as far as it is certain: while every unfinished stream has a row to compare. Pages
   * that the window shows stay parsed; the others are dropped as soon as they are counted.
   */
  function merge(shown: Set<StoredPage<Page>>, { offset, limit }: WindowRequest): void {
    for (;;) {
      const newest = findNewest(shown)
      const stream = newest === null ? undefined : streams[newest]
      if (newest === null || stream === undefined) return
      const page = stream.pages[stream.page]
      if (page !== undefined && merged.length >= offset && merged.length < offset + limit) {
        shown.add(page)
      }
      merged.push(toPlace(newest, stream.page, stream.row))
      stream.row += 1
    }
  }

  /** Resolves with the number of pages that were read. */
  async function readUntil(request: WindowRequest, call: CallContext): Promise<number> {
    const target = request.offset + rowCeiling
    const cap = Math.min(request.pageCap ?? maxPages, maxPages)
    let pagesLeft = cap
    const shown = new Set<StoredPage<Page>>()
    const onPage = () => merge(shown, request)
    onPage()
    while (!isDone() && merged.length < target && pagesLeft > 0) {
      const unfinished = streams.filter((stream) => !stream.isDone())
      // The streams that hold the merge up: those without a row to compare.
      const waiting = unfinished.filter((stream) => stream.pages.length <= stream.page)
      const batch = waiting.slice(0, Math.min(pagesInFlight, pagesLeft))
      const each = { maxPages: Math.floor(pagesLeft / batch.length), call, onPage }
      const missing = target - merged.length
      // The last stream is read to the end; of others no more than a share, since their rows may not be wanted yet.
      const share = Math.max(1, Math.floor(pagesInFlight / waiting.length)) * source.reader.pageSize
      const rows = unfinished.length === 1 ? missing : Math.min(missing, share)
      const read = await allOrFirstFailure(batch.map((stream) => stream.readOn(rows, each)))
      pagesLeft -= read.reduce((sum, pages) => sum + pages, 0)
      believed = false
    }
    return cap - pagesLeft
  }

  function show(offset: number, limit: number): WalkWindow<RowOf<Page>>['rows'] {
    return merged.slice(offset, offset + limit).map((place) => {
      const { stream, page, row } = at(place)
      const index = page.wanted[row] ?? -1
      return { row: stream.open(page).map(index) as RowOf<Page>, copy: page.copies?.[row] ?? 1 }
    })
  }

  function at(place: Place) {
    const above = Math.floor(place / rowsPerPage)
    const stream = streams[Math.floor(above / pagesPerStream)]
    const pageNumber = above % pagesPerStream
    const page = stream?.pages[pageNumber]
    if (stream === undefined || page === undefined) throw new Error('a merged row has no page')
    return { stream, page, pageNumber, row: place % rowsPerPage }
  }

  const size = () => streams.reduce((sum, stream) => sum + stream.size(), 0)

  /** Keeps the pages from this row of the merged order on. Identical fills are numbered from the first row: never there. */
  function forgetBefore(offset: number): void {
    const needed = new Map(streams.map((stream) => [stream, stream.page]))
    for (let row = merged.length - 1; row >= offset; row -= 1) {
      const { stream, pageNumber } = at(merged[row] ?? 0)
      needed.set(stream, pageNumber)
    }
    for (const [stream, before] of needed) stream.forget(before)
  }

  let turn: Promise<unknown> = Promise.resolve()
  let awaited = 0
  let closed = false

  function letGo(): void {
    for (const stream of streams) stream.close()
    merged.length = 0
  }

  async function window(
    request: WindowRequest,
    call: CallContext,
  ): Promise<WalkWindow<RowOf<Page>>> {
    try {
      // The last page was parsed in this turn of the event loop: others come first before its rows are mapped.
      if ((await readUntil(request, call)) > 0) await nextTurn()
      const rows = show(request.offset, request.limit)
      if (source.keyOf === undefined && size() > roomyBytes) forgetBefore(request.offset)
      return { rows, seen: merged.length, complete: isDone() }
    } finally {
      for (const stream of streams) for (const page of stream.pages) page.parsed = null
    }
  }

  return {
    window(request, call) {
      if (closed) throw new Error('the walk is closed')
      awaited += 1
      const mine = turn.then(() => {
        call.signal.throwIfAborted()
        return window(request, call)
      })
      turn = mine
        .catch(() => undefined)
        .then(() => {
          awaited -= 1
          if (closed && awaited === 0) letGo()
        })
      return mine
    },
    hasEmptyStream: () =>
      !believed && (streams.length === 0 || streams.some((stream) => stream.isEmpty())),
    believe() {
      believed = true
    },
    isResumed: () => streams.some((stream) => stream.pages.length > 0),
    size,
    close() {
      closed = true
      if (awaited === 0) letGo()
    },
  }
}

/** Past the last row of a page comes the next one; a page that the window does not show is not needed parsed any more. */
function skipUsedPages<Page>(stream: RowStream<Page>, shown: ReadonlySet<StoredPage<Page>>): void {
  let page = stream.pages[stream.page]
  while (page !== undefined && stream.row >= page.wanted.length) {
    if (!shown.has(page)) page.parsed = null
    stream.page += 1
    stream.row = 0
    page = stream.pages[stream.page]
  }
}

/** Like Promise.all, but waits for the stragglers, so that nothing changes the walk behind the next request's back. */
async function allOrFirstFailure<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  const results = await Promise.allSettled(work)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

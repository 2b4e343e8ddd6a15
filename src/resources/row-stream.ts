/**
 * One account's rows in the provider's order: its pages as far as they were read, which of their rows are wanted, and
 * how to read on. It keeps the pages' bodies; parsed pages only as long as somebody needs them.
 */
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, PageCursor, RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { releaseBytes } from '#providers/release-bytes.ts'
import { makeCopies } from './copies.ts'
import { makeReadAhead } from './read-ahead.ts'
import { makeSeenRows } from './seen-rows.ts'

/** Numbered pages are read this many at once (architecture, the reading river). */
export const pagesInFlight = 4

export interface StreamSource<Page extends RowPage<unknown>> {
  readonly provider: Provider
  readonly reader: RowReader<Page>
  /** The bare id whose repetitions are numbered, equal at equal times only; absent: rows are shown as they are. */
  readonly keyOf?: (page: Page, index: number) => string
}

export interface StoredPage<Page> {
  readonly cursor: PageCursor | null
  /** Null once the walk has passed it and its memory was needed. */
  body: Uint8Array | null
  /** Rows of the page that match the query, in its order. */
  readonly wanted: Int32Array
  /** When each of them counts. */
  readonly times: Float64Array
  /** For trades: 1 for the first of identical fills, 2, 3 … for the later ones (reading R24a). */
  readonly copies: Int32Array | null
  /** Kept only while the request that reads or shows it lasts. */
  parsed: Page | null
}

export interface RowStream<Page> {
  readonly pages: readonly StoredPage<Page>[]
  /** The next row to be merged. */
  page: number
  row: number
  /** The provider has no more. */
  isDone(): boolean
  /** It ended without a single row of the connection. */
  isEmpty(): boolean
  /** Bytes held. */
  size(): number
  /** The page parsed, again if need be; throws PassedPage when its body is gone. */
  open(page: StoredPage<Page>): Page
  /** Lets go of the bodies of the pages before this one. */
  forget(before: number): void
  /** Reads pages until so many rows more are there or the provider has no more; resolves with the number of pages. */
  readOn(rows: number, options: ReadOptions): Promise<number>
  /** Lets go of its pages; nothing may be asked of it any more. */
  close(): void
}

export interface ReadOptions {
  readonly maxPages: number
  readonly call: CallContext
  /** Called after every page, so that it can be used and dropped before the next one. */
  readonly onPage: () => void
}

const rowsPerPage = 2 ** 20
/** What a wanted row costs: its place and its time, here and in the merged order. */
const bytesPerRow = 40
/** What a stream costs that holds nothing. */
const bytesPerStream = 2048

/** A window wants rows whose page is not held any more: they have to be read again from the first one on. */
export class PassedPage extends Error {
  override readonly name = 'PassedPage'
}

/** Starts before the newest row; nothing is read yet. */
export function makeRowStream<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  query: RowsQuery,
): RowStream<Page> {
  const pages: StoredPage<Page>[] = []
  /** Cursors still to be read, next first; empty at the end. */
  let ahead: readonly (PageCursor | null)[] = [null]
  const seenCursors = new Set<PageCursor | null>(ahead)
  let ownRows = 0
  let bytes = 0
  /** The page that is being taken in. */
  let current: Page | null = null
  const seenRows = makeSeenRows((place) => {
    return isPassed(place) ? null : (pageAt(place).head(place % rowsPerPage)?.id ?? '')
  })
  const { keyOf } = source
  const copies =
    keyOf === undefined ? null : makeCopies((place) => keyOf(pageAt(place), place % rowsPerPage))

  const storedAt = (place: number) => pages[Math.floor(place / rowsPerPage)]

  function isPassed(place: number): boolean {
    const stored = storedAt(place)
    return stored !== undefined && stored.body === null && stored.parsed === null
  }

  function pageAt(place: number): Page {
    const stored = storedAt(place)
    const page = stored === undefined ? current : open(stored)
    if (page === null) throw new Error('a row has no page')
    return page
  }

  function open(page: StoredPage<Page>): Page {
    if (page.parsed === null) {
      if (page.body === null) throw new PassedPage('the walk has passed this page')
      page.parsed = source.reader.open(query, page.cursor, page.body)
    }
    return page.parsed
  }

  function release(page: StoredPage<Page>): void {
    page.parsed = null
    if (page.body === null) return
    bytes -= page.body.length
    releaseBytes(page.body)
    page.body = null
  }

  /** Takes a page in: which rows are wanted, and what comes after it. */
  function append(cursor: PageCursor | null, page: Page): number {
    const found = new Int32Array(page.length)
    const seenAt = new Float64Array(page.length)
    const numbers = copies === null ? null : new Int32Array(page.length)
    let count = 0
    const from = query.window.from ?? Number.NEGATIVE_INFINITY
    const to = query.window.to ?? Number.POSITIVE_INFINITY
    current = page
    for (let index = 0; index < page.length; index += 1) {
      const head = page.head(index)
      if (head === null || head.time < from || head.time > to) continue
      const place = pages.length * rowsPerPage + index
      if (!seenRows.add(head.id, place)) continue
      found[count] = index
      seenAt[count] = head.time
      if (numbers !== null) numbers[count] = copies?.number(head.time, place) ?? 1
      count += 1
    }
    current = null
    pages.push({
      cursor,
      body: page.body,
      wanted: found.slice(0, count),
      times: seenAt.slice(0, count),
      copies: numbers?.slice(0, count) ?? null,
      parsed: page,
    })
    for (const part of [found, seenAt, numbers]) if (part !== null) releaseBytes(part)
    ownRows += page.ownRows
    bytes += page.body.length + count * bytesPerRow
    ahead = page.next === null ? [] : [page.next, ...page.ahead]
    if (page.next !== null && seenCursors.has(page.next)) {
      const detail = 'the pages go round in a circle'
      throw new UpstreamError(source.provider, { kind: 'malformed', detail })
    }
    seenCursors.add(page.next)
    return count
  }

  return {
    pages,
    page: 0,
    row: 0,
    isDone: () => ahead.length === 0,
    isEmpty: () => ahead.length === 0 && ownRows === 0,
    size: () => bytes + seenRows.size() + bytesPerStream,
    open,
    forget(before) {
      for (const page of pages.slice(0, before)) release(page)
    },
    async readOn(rows, { maxPages, call, onPage }) {
      const { pageSize } = source.reader
      const read = (cursor: PageCursor | null, context: CallContext) =>
        source.reader.read(query, cursor, context)
      const flights = makeReadAhead(read, call)
      let rowsLeft = rows
      let pagesLeft = maxPages
      try {
        while (rowsLeft > 0 && ahead.length > 0 && pagesLeft > 0) {
          const cursor = ahead[0] ?? null
          const useful = Math.min(pagesInFlight, Math.ceil(rowsLeft / pageSize), pagesLeft)
          const page = await flights.take(ahead, useful)
          pagesLeft -= 1
          rowsLeft -= append(cursor, page)
          onPage()
        }
      } finally {
        flights.close()
      }
      return maxPages - pagesLeft
    },
    close() {
      for (const page of pages) {
        release(page)
        for (const part of [page.wanted, page.times, page.copies]) {
          if (part !== null) releaseBytes(part)
        }
      }
      pages.length = 0
      seenRows.close()
    },
  }
}

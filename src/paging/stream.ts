/**
 * One account's rows in the provider's order: the wanted rows of its pages, their places, and the cursors to continue
 * from. It keeps a fingerprint of every row, so that a page that is read again, or has shifted, can be compared with
 * it. The functions work on plain state; `read-pages.ts` does the reading.
 */
import type { PageCursor, RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { type Copies, makeCopies } from './copies.ts'
import { type Fingerprint, makeFingerprint, type Print, toNumber } from './fingerprint.ts'
import type { HeldPage } from './page-memory.ts'
import { emptyMark, readMark } from './row-mark.ts'
import {
  addRow,
  copyRows,
  findRow,
  makeRowTable,
  noPage,
  type RowTable,
  releaseRows,
  reserveRows,
  sizeOfRows,
  truncateRows,
} from './row-table.ts'
import { CircularPages, MissingPage, ReplacedRows, ShiftedRows } from './walk-trouble.ts'

export interface StreamSource<Page extends RowPage<unknown>> {
  readonly reader: RowReader<Page>
  /**
   * The id without a number, whose repetitions are numbered; equal only at equal times. Absent: rows are not
   * numbered.
   */
  keyOf?(page: Page, index: number): string
}

type Cursor = PageCursor | null

export interface Stream<Page> {
  query: RowsQuery
  table: RowTable
  copies: Copies | null
  /** Number of rows that were merged; the row with this number comes next. */
  consumed: number
  /** Cursors of the chain: the pages read one after another from the first one on. */
  pages: Cursor[]
  /** Cursors of pages outside the chain to which rows have moved. */
  extras: Cursor[]
  /** Cursors still to be read, in order; empty at the end. */
  ahead: readonly Cursor[]
  ownRows: number
  /** Of the last page only. */
  lastOwnRows: number
  /** The total given on the first page of the chain; null where the provider gives none. */
  total: number | null
  /** All rows on the pages of the chain, wanted or not. */
  received: number
  /** Rows among those that an earlier page had too. */
  repeated: number
  /** Rows that arrived after the walk began, with the page that last had them. They are never shown. */
  ignored: Map<number, number>
  /** The rows known before a restart, until the restarted chain meets one of them; null otherwise. */
  before: RowTable | null
  /** Known rows that the restarted chain has not met yet. */
  unlocated: number
  /** Pages that a restarted chain may read beyond the page cap, because their rows were read before (reading R17). */
  free: number
  bodies: Map<Cursor, HeldPage<Page>>
}

/** The seed may be constant, because keys are compared only among rows with equal times. */
const digest = makeFingerprint({ first: 0, second: 0 })

/** During the life of a walk, new rows move others by at most this many pages. */
export const maxPagesMoved = 6

/** The memory of a stream without rows. */
const bytesPerStream = 1024
const bytesPerPage = 160

/** Starts before the newest row; nothing is read yet. */
export function makeStream<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  query: RowsQuery,
): Stream<Page> {
  const stream: Stream<Page> = {
    query,
    table: makeRowTable(source.keyOf !== undefined),
    copies: null,
    consumed: 0,
    pages: [],
    extras: [],
    ahead: [null],
    ownRows: 0,
    lastOwnRows: 0,
    total: null,
    received: 0,
    repeated: 0,
    ignored: new Map(),
    before: null,
    unlocated: 0,
    free: 0,
    bodies: new Map(),
  }
  renewCopies(source, stream)
  return stream
}

/**
 * Restarts the stream from its first page. The first `fixed` rows keep their numbers, because windows have shown
 * them, and get their places when they are met. Rows above the first known row arrived after the walk began.
 */
export function restartStream<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  old: Stream<Page>,
  fixed: number,
): Stream<Page> {
  const stream = makeStream(source, old.query)
  releaseRows(stream.table)
  stream.table = copyRows(old.table, fixed)
  stream.consumed = fixed
  for (const key of old.ignored.keys()) stream.ignored.set(key, noPage)
  stream.before = old.table.count > 0 ? old.table : null
  stream.unlocated = fixed
  // A chain that is restarted before it met all its rows still has to read the pages of the chain before it.
  stream.free = old.pages.length + old.free + maxPagesMoved
  renewCopies(source, stream)
  return stream
}

/** Pages outside the chain are numbered from here. */
export const firstExtra = 2 ** 24

/** The cursor of the page with this number. */
export const cursorOf = ({ pages, extras }: Stream<unknown>, page: number): Cursor =>
  (page >= firstExtra ? extras[page - firstExtra] : pages[page]) ?? null

/** True while a restarted chain has not reached the rows that it must find again. */
export const isBehind = (stream: Stream<unknown>): boolean =>
  stream.ahead.length > 0 && stream.free > 0 && (stream.before !== null || stream.unlocated > 0)

/** The page with this number, parsed again if necessary; null when its body was evicted. */
export function openHeld<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  stream: Stream<Page>,
  page: number,
): Page | null {
  const held = stream.bodies.get(cursorOf(stream, page))
  if (held === undefined) return null
  held.parsed ??= source.reader.open(stream.query, held.cursor, held.body)
  return held.parsed
}

/**
 * Continues the numbering of identical fills from the table. A key is computed from the row's page; throws
 * MissingPage when that page must be fetched again first.
 */
export function renewCopies<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  stream: Stream<Page>,
): void {
  const { table } = stream
  if (source.keyOf === undefined) return
  const print: Print = { first: 0, second: 0 }
  stream.copies = makeCopies(table, (row) => {
    const number = table.pages[row] ?? noPage
    const index = table.rows[row] ?? noPage
    if (number === noPage || index < 0) return null
    const page = openHeld(source, stream, number)
    if (page === null) throw new MissingPage(number)
    digest.ofText(source.keyOf?.(page, index) ?? '', print)
    return toNumber(print)
  })
}

/** Adds the next page of the chain, whose body is already held; returns the number of new rows. */
export function appendPage<Page extends RowPage<unknown>>(
  stream: Stream<Page>,
  page: Page,
  fingerprint: Fingerprint,
): number {
  const { table } = stream
  const number = stream.pages.length
  const before = table.count
  if (number === 0) stream.total = page.total
  else if (page.total !== stream.total) throw new ShiftedRows()
  stream.pages.push(stream.ahead[0] ?? null)
  let repeated = 0
  try {
    repeated = takeRows(stream, page, { number, fingerprint })
  } catch (error) {
    stream.pages.length = number
    truncateRows(table, before)
    throw error
  }
  stream.repeated += repeated
  stream.received += page.length
  stream.ownRows += page.ownRows
  stream.lastOwnRows = page.ownRows
  stream.ahead = page.next === null ? [] : [page.next, ...page.ahead]
  if (page.next !== null && stream.pages.includes(page.next)) throw new CircularPages()
  if (page.next === null) checkEnd(stream)
  return table.count - before
}

/** With numbered pages every row must have been received exactly once. */
function checkEnd(stream: Stream<unknown>): void {
  const { total, received, repeated } = stream
  if (total !== null && received - repeated !== total) throw new ShiftedRows()
  if (stream.before !== null) throw new ReplacedRows()
}

interface Taken {
  readonly number: number
  readonly fingerprint: Fingerprint
}

/** Returns the number of rows that an earlier page had too. */
function takeRows<Page extends RowPage<unknown>>(
  stream: Stream<Page>,
  page: Page,
  { number, fingerprint }: Taken,
): number {
  const { table, copies } = stream
  const from = stream.query.window.from ?? Number.NEGATIVE_INFINITY
  const to = stream.query.window.to ?? Number.POSITIVE_INFINITY
  const mark = emptyMark()
  let repeated = 0
  // Reused for all rows: thousands of small objects would cost more than their content.
  const place = { page: number, row: 0 }
  reserveRows(table, page.length)
  for (let index = 0; index < page.length; index += 1) {
    if (!readMark(page, index, fingerprint, mark) || mark.time < from || mark.time > to) continue
    const known = findRow(table, mark)
    place.row = index
    if (known >= 0) {
      stream.before = null
      if (meet(stream, known, place)) repeated += 1
    } else if (isIgnored(stream, mark)) {
      const key = toNumber(mark)
      const met = stream.ignored.get(key) ?? noPage
      if (met !== noPage && met !== number) repeated += 1
      stream.ignored.set(key, number)
    } else {
      stream.before = null
      const row = addRow(table, mark, mark.time, place)
      copies?.number(row)
    }
  }
  return repeated
}

/** Records that a known row was met; true when an earlier page of this chain had it. */
function meet(
  stream: Stream<unknown>,
  row: number,
  place: { readonly page: number; readonly row: number },
): boolean {
  const { pages, rows } = stream.table
  const page = pages[row] ?? noPage
  if (page !== noPage) return page !== place.page
  pages[row] = place.page
  rows[row] = place.row
  // A row that counted as deleted may come back.
  if (stream.unlocated > 0) stream.unlocated -= 1
  return false
}

/** True for a row that was ignored before, or that is above all rows known before the restart. */
function isIgnored(stream: Stream<unknown>, print: Print): boolean {
  if (stream.ignored.size > 0 && stream.ignored.has(toNumber(print))) return true
  return stream.before !== null && findRow(stream.before, print) < 0
}

/** A state that a stream can be reset to. */
export interface Mark {
  readonly stream: Stream<unknown>
  readonly at: Omit<Stream<unknown>, 'query' | 'table' | 'copies' | 'ignored' | 'bodies'>
  readonly rows: number
  readonly pageCount: number
}

export function markStream(stream: Stream<unknown>): Mark {
  const { query: _, table, copies: __, ignored: ___, bodies: ____, ...at } = stream
  return { stream, at, rows: table.count, pageCount: stream.pages.length }
}

/** Drops everything read since the mark. Rows located since then lose their place. */
export function goBack<Page extends RowPage<unknown>>(
  source: StreamSource<Page>,
  stream: Stream<Page>,
  { at, rows, pageCount }: Mark,
): void {
  const { table } = stream
  truncateRows(table, rows)
  for (let row = 0; row < rows; row += 1) {
    const page = table.pages[row] ?? noPage
    if (page >= pageCount && page < firstExtra) table.pages[row] = noPage
  }
  for (const [key, page] of stream.ignored) {
    if (page >= pageCount) stream.ignored.set(key, noPage)
  }
  stream.pages.length = pageCount
  Object.assign(stream, at)
  renewCopies(source, stream)
}

/** Bytes held, excluding page bodies. */
export function sizeOfStream({ table, pages, ignored }: Stream<unknown>): number {
  const cursors = pages.reduce((sum, cursor) => sum + bytesPerPage + (cursor?.length ?? 0), 0)
  return bytesPerStream + sizeOfRows(table) + cursors + ignored.size * 32
}

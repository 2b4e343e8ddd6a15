/**
 * Returns the rows of a window. A page whose body was evicted is fetched again and compared with the fingerprints of
 * its rows; rows that have moved are searched on the neighbouring pages. A row that is not found was deleted at the
 * provider: it is omitted and its place stays empty, so that no other row is shown twice or skipped.
 */
import type { RowPage } from '#providers/port.ts'
import { fetchPage, lookUp } from './fetch-page.ts'
import type { HeldPage } from './page-memory.ts'
import { noPage, noRow } from './row-table.ts'
import { cursorOf, firstExtra, maxPagesMoved, openHeld, type Stream } from './stream.ts'
import {
  addFront,
  countMerged,
  placeAt,
  rowNumber,
  streamNumber,
  type WalkState,
} from './walk-state.ts'
import { ReplacedRows, StreamTrouble } from './walk-trouble.ts'
import type { WindowRead } from './window-read.ts'

/** The type of the rows on a page. */
export type RowOf<Page extends RowPage<unknown>> = ReturnType<Page['map']>

export interface ShownRow<Row> {
  readonly row: Row
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  readonly copy: number
}

interface Wanted<Page> {
  readonly stream: Stream<Page>
  readonly row: number
}

interface Spot<Page> {
  readonly page: Page
  readonly index: number
}

/**
 * The rows of the window, as far as they are merged. Throws StreamTrouble, and ReplacedRows when no known row is
 * left.
 */
export async function showRows<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
): Promise<ShownRow<RowOf<Page>>[]> {
  const end = Math.min(windowRead.offset + windowRead.limit, countMerged(state))
  const current = new Map<Stream<Page>, number>()
  const rows: ShownRow<RowOf<Page>>[] = []
  const front: number[] = []
  addFront(state, front)
  for (let position = windowRead.offset; position < end; position += 1) {
    const place = placeAt(state, position)
    const number = streamNumber(place)
    const stream = state.streams[number]
    if (stream === undefined) throw new RangeError('a merged row has no stream')
    const wanted = { stream, row: rowNumber(place) }
    front[number] ??= toFront(stream, wanted.row)
    const spot = spotOf(state, wanted) ?? (await findAgain(state, windowRead, wanted))
    if (spot === null) continue
    leavePage(stream, current, stream.table.pages[wanted.row] ?? noPage)
    const copy = stream.table.copies?.[wanted.row] ?? 1
    rows.push({ row: spot.page.map(spot.index) as RowOf<Page>, copy })
  }
  if (rows.length === 0 && end > windowRead.offset && (await isReplaced(state, windowRead))) {
    throw new ReplacedRows()
  }
  return rows
}

/**
 * True when no page fetched during this request has a known row, and no stream has one either. When a single account
 * lost its few rows the result is false: the rows of the other accounts keep their places.
 */
async function isReplaced<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
): Promise<boolean> {
  const { fetched } = windowRead
  if (fetched.size === 0 || [...fetched].some(({ firstRow }) => firstRow !== noRow)) return false
  for (const [index, stream] of state.streams.entries()) {
    try {
      if (stream.pages.length > 0 && (await hasKnownRow(state, windowRead, stream))) return false
    } catch (error) {
      throw new StreamTrouble(index, error)
    }
  }
  return true
}

/** Searches the first pages of a stream, as far as rows may have moved. */
async function hasKnownRow<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  stream: Stream<Page>,
): Promise<boolean> {
  let page = 0
  for (let moved = 0; moved <= maxPagesMoved; moved += 1) {
    const held = await renewPage(state, windowRead, { stream, page })
    if (held.firstRow !== noRow) return true
    const next = openHeld(state.source, stream, page)?.next ?? null
    if (next === null) return false
    page = numberOf(stream, next)
  }
  return false
}

function toFront({ table }: Stream<unknown>, row: number): number {
  const page = table.pages[row] ?? noPage
  return page < firstExtra ? Math.max(0, page) : 0
}

/** Releases the parsed form of the page before, once the window has passed it. */
function leavePage<Page>(
  stream: Stream<Page>,
  current: Map<Stream<Page>, number>,
  page: number,
): void {
  const before = current.get(stream)
  if (before === page) return
  current.set(stream, page)
  const held = before === undefined ? undefined : stream.bodies.get(cursorOf(stream, before))
  if (held !== undefined) held.parsed = null
}

/** The row's place, when the body of its page is in memory and has the row. */
function spotOf<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  { stream, row }: Wanted<Page>,
): Spot<Page> | null {
  const { pages, rows } = stream.table
  const number = pages[row] ?? noPage
  if (number === noPage) return null
  const held = stream.bodies.get(cursorOf(stream, number))
  if (held === undefined) return null
  if (!held.isLookedUp) lookUp(state, stream, held)
  const page = openHeld(state.source, stream, pages[row] ?? noPage)
  const index = rows[row] ?? noRow
  return page === null || index === noRow ? null : { page, index }
}

/**
 * Fetches the row's page again, and searches the neighbouring pages if the row has moved; null when it was deleted.
 */
async function findAgain<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  wanted: Wanted<Page>,
): Promise<Spot<Page> | null> {
  const { stream, row } = wanted
  const number = stream.table.pages[row] ?? noPage
  if (number === noPage) return null
  let spot: Spot<Page> | null = null
  try {
    const held = await renewPage(state, windowRead, { stream, page: number })
    spot = spotOf(state, wanted) ?? (await lookAround(state, windowRead, { ...wanted, held }))
  } catch (error) {
    throw new StreamTrouble(state.streams.indexOf(stream), error)
  }
  if (spot !== null) return spot
  // Reading R20b: when a page that had rows has none any more, the consent may have ended instead of the rows being
  // deleted.
  if (windowRead.doubt === 'due') {
    await windowRead.confirmEnd()
    windowRead.doubt = 'settled'
  }
  stream.table.pages[row] = noPage
  return null
}

/**
 * New rows above push others down to the following pages; deleted rows above let others move up to the previous
 * pages. The rows found on the way do not show how far a row has moved.
 */
async function lookAround<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  { held, ...wanted }: Wanted<Page> & { readonly held: HeldPage<Page> },
): Promise<Spot<Page> | null> {
  const { stream, row } = wanted
  let last = held
  for (let moved = 0; moved < maxPagesMoved; moved += 1) {
    const next = openHeld(state.source, stream, last.page)?.next ?? null
    if (next === null) break
    last = await renewPage(state, windowRead, { stream, page: numberOf(stream, next) })
    const spot = spotOf(state, wanted)
    if (spot !== null) return spot
  }
  last = held
  for (let moved = 0; moved < maxPagesMoved; moved += 1) {
    if (last.firstRow !== noRow && last.firstRow < row) return null
    const before = pageBefore(stream, last.page)
    if (before === noPage) return null
    last = await renewPage(state, windowRead, { stream, page: before })
    const spot = spotOf(state, wanted)
    if (spot !== null) return spot
  }
  return null
}

/**
 * The number of the previous page, or `noPage`. Rows move up to another page only with numbered pages; their pages
 * outside the chain follow the end of the chain in the order in which they were found.
 */
function pageBefore(stream: Stream<unknown>, number: number): number {
  const inChain = stream.pages.indexOf(cursorOf(stream, number))
  if (inChain >= 0) return inChain === 0 ? noPage : inChain - 1
  return number > firstExtra ? number - 1 : stream.pages.length - 1
}

/** The number of the page at this cursor; a new number outside the chain when the chain does not have it. */
function numberOf(stream: Stream<unknown>, cursor: NonNullable<Stream<unknown>['pages'][number]>) {
  const known = stream.pages.indexOf(cursor)
  if (known >= 0) return known
  const extra = stream.extras.indexOf(cursor)
  if (extra >= 0) return firstExtra + extra
  return firstExtra + stream.extras.push(cursor) - 1
}

/** The current page: fetched during this request, with all its known rows looked up. */
async function renewPage<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  { stream, page: number }: { readonly stream: Stream<Page>; readonly page: number },
): Promise<HeldPage<Page>> {
  const known = stream.bodies.get(cursorOf(stream, number))
  const held =
    known !== undefined && windowRead.fetched.has(known)
      ? known
      : await fetchPage(state, windowRead, { stream, page: number })
  lookUp(state, stream, held)
  return held
}

/**
 * Finds a row whose page may not be in memory: the page is fetched again and compared with the fingerprints of its rows,
 * and rows that have moved are searched on the neighbouring pages. Numbered pages may change while they are searched: there
 * a row counts as deleted only when all pages that were searched were the same twice.
 */
import type { RowPage } from '#providers/port.ts'
import { fetchPage, lookUp } from './fetch-page.ts'
import type { HeldPage } from './page-memory.ts'
import { noPage, noRow } from './row-table.ts'
import { cursorOf, firstExtra, maxPagesMoved, openHeld, type Stream } from './stream.ts'
import type { WalkState } from './walk-state.ts'
import { ShiftedRows, StreamTrouble } from './walk-trouble.ts'
import type { WindowRead } from './window-read.ts'

export interface Wanted<Page> {
  readonly stream: Stream<Page>
  readonly row: number
}

export interface Spot<Page> {
  readonly page: Page
  readonly index: number
}

/** One search for one row. */
interface Search<Page> extends Wanted<Page> {
  readonly state: WalkState<Page & RowPage<unknown>>
  readonly windowRead: WindowRead<Page>
  /** The pages that it looked at, all of them fetched during this request. */
  readonly visited: Set<HeldPage<Page>>
}

/** How often numbered pages are searched for one row before they count as shifting. */
const maxSearches = 4

/** The row's place, when the body of its page is in memory and has the row. */
export function spotOf<Page extends RowPage<unknown>>(
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
 * Throws StreamTrouble.
 */
export async function findAgain<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  wanted: Wanted<Page>,
): Promise<Spot<Page> | null> {
  const { stream, row } = wanted
  const number = stream.table.pages[row] ?? noPage
  if (number === noPage) return null
  let spot: Spot<Page> | null = null
  try {
    spot = await searchUntilCertain(state, windowRead, wanted, number)
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

/** Throws ShiftedRows when the pages differ each time. */
async function searchUntilCertain<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  wanted: Wanted<Page>,
  number: number,
): Promise<Spot<Page> | null> {
  let earlier: ReadonlyMap<HeldPage<Page>['cursor'], string> = new Map()
  for (let count = 0; count < maxSearches; count += 1) {
    const search = { state, windowRead, ...wanted, visited: new Set<HeldPage<Page>>() }
    const spot = await searchFrom(search, number)
    // A total comes with numbered pages only: behind a cursor no row is skipped.
    if (spot !== null || wanted.stream.total === null) return spot
    // Of a single page, nothing can have moved from one that was read to one that was not.
    if (search.visited.size === 1) return null
    const prints = [...search.visited].map((held) => [held, windowRead.fetched.get(held)] as const)
    if (prints.every(([{ cursor }, print]) => earlier.get(cursor) === print)) {
      windowRead.steady = search.visited
    }
    if (search.visited.isSubsetOf(windowRead.steady)) return null
    earlier = new Map(prints.map(([{ cursor }, print]) => [cursor, print ?? '']))
    for (const held of search.visited) windowRead.fetched.delete(held)
  }
  throw new ShiftedRows()
}

async function searchFrom<Page extends RowPage<unknown>>(
  search: Search<Page>,
  number: number,
): Promise<Spot<Page> | null> {
  const held = await visit(search, number)
  return spotOf(search.state, search) ?? (await lookAround(search, held))
}

/**
 * New rows above push others down to the following pages; deleted rows above let others move up to the previous
 * pages. The rows found on the way do not show how far a row has moved.
 */
async function lookAround<Page extends RowPage<unknown>>(
  search: Search<Page>,
  held: HeldPage<Page>,
): Promise<Spot<Page> | null> {
  const { state, stream, row } = search
  let last = held
  for (let moved = 0; moved < maxPagesMoved; moved += 1) {
    const next = openHeld(state.source, stream, last.page)?.next ?? null
    if (next === null) break
    last = await visit(search, numberOf(stream, next))
    const spot = spotOf(state, search)
    if (spot !== null) return spot
  }
  last = held
  for (let moved = 0; moved < maxPagesMoved; moved += 1) {
    if (last.firstRow !== noRow && last.firstRow < row) return null
    const before = pageBefore(stream, last.page)
    if (before === noPage) return null
    last = await visit(search, before)
    const spot = spotOf(state, search)
    if (spot !== null) return spot
  }
  return null
}

async function visit<Page extends RowPage<unknown>>(
  { state, windowRead, stream, visited }: Search<Page>,
  page: number,
): Promise<HeldPage<Page>> {
  const held = await renewPage(state, windowRead, { stream, page })
  visited.add(held)
  return held
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
export function numberOf(
  stream: Stream<unknown>,
  cursor: NonNullable<Stream<unknown>['pages'][number]>,
): number {
  const known = stream.pages.indexOf(cursor)
  if (known >= 0) return known
  const extra = stream.extras.indexOf(cursor)
  if (extra >= 0) return firstExtra + extra
  return firstExtra + stream.extras.push(cursor) - 1
}

/** The current page: fetched during this request, with all its known rows looked up. */
export async function renewPage<Page extends RowPage<unknown>>(
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

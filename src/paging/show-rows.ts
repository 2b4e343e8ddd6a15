/**
 * Returns the rows of a window. A row that is not found any more was deleted at the provider: it is omitted and its place
 * stays empty, so that no other row is shown twice or skipped.
 */
import type { RowPage } from '#providers/port.ts'
import { findAgain, numberOf, renewPage, spotOf } from './find-row.ts'
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
    const row = windowRead.mapped.get(spot.page)?.[spot.index] ?? spot.page.map(spot.index)
    rows.push({ row: row as RowOf<Page>, copy })
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
  if (fetched.size === 0 || [...fetched.keys()].some(({ firstRow }) => firstRow !== noRow))
    return false
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

/** Fetches a page that was read before, and compares it with the known rows. */
import { createHash } from 'node:crypto'
import type { RowPage } from '#providers/port.ts'
import type { HeldPage } from './page-memory.ts'
import { emptyMark, readMark } from './row-mark.ts'
import { findRow, noPage, noRow } from './row-table.ts'
import { cursorOf, openHeld, type Stream } from './stream.ts'
import { hold, type WalkState } from './walk-state.ts'
import type { WindowRead } from './window-read.ts'

/** Fetches a page that was read before; it does not count against the request's page cap. */
export async function fetchPage<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  { stream, page: number }: { readonly stream: Stream<Page>; readonly page: number },
): Promise<HeldPage<Page>> {
  const cursor = cursorOf(stream, number)
  const page = await state.source.reader.read(stream.query, cursor, windowRead.call)
  windowRead.pagesRead += 1
  const held = toHeld(cursor, number, page)
  hold(state, stream, held)
  windowRead.fetched.set(held, describe(page))
  if (page.ownRows === 0 && windowRead.doubt === 'none') windowRead.doubt = 'due'
  return held
}

/** Total and ids of a numbered page: it is empty for others. */
function describe(page: RowPage<unknown>): string {
  if (page.total === null) return ''
  const digest = createHash('sha256').update(`${page.total}`)
  for (let index = 0; index < page.length; index += 1) {
    digest.update(`\n${page.head(index)?.id ?? ''}`)
  }
  return digest.digest('base64')
}

export function toHeld<Page extends RowPage<unknown>>(
  cursor: HeldPage<Page>['cursor'],
  number: number,
  page: Page,
): HeldPage<Page> {
  return {
    cursor,
    page: number,
    body: page.body,
    parsed: page,
    isLookedUp: false,
    firstRow: noRow,
  }
}

/** Updates where the known rows of a page are now, and marks rows that are no longer on it. */
export function lookUp<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  stream: Stream<Page>,
  held: HeldPage<Page>,
): void {
  const { table } = stream
  const { pages, rows } = table
  const page = openHeld(state.source, stream, held.page)
  if (page === null) return
  const isHere = (number: number) => number !== noPage && cursorOf(stream, number) === held.cursor
  for (let row = 0; row < table.count; row += 1) {
    if (isHere(pages[row] ?? noPage)) rows[row] = noRow
  }
  const mark = emptyMark()
  let first = noRow
  for (let index = 0; index < page.length; index += 1) {
    if (!readMark(page, index, state.fingerprint, mark)) continue
    const row = findRow(table, mark)
    if (row < 0) continue
    first = first === noRow ? row : Math.min(first, row)
    const number = pages[row] ?? noPage
    const isLost = number === noPage || rows[row] === noRow
    if (!isLost && stream.bodies.has(cursorOf(stream, number))) continue
    if (number === noPage && stream.unlocated > 0) stream.unlocated -= 1
    pages[row] = held.page
    rows[row] = index
  }
  held.firstRow = first
  held.isLookedUp = true
}

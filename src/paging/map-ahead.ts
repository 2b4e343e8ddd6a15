/**
 * Maps rows of the window while the provider is busy with the pages after them: when the last page arrives, only that page is
 * left to do. A row of a page is the same whenever it is mapped; which rows are shown is decided at the end.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RowPage } from '#providers/port.ts'
import { noPage, noRow } from './row-table.ts'
import { cursorOf } from './stream.ts'
import { countMerged, placeAt, rowNumber, streamNumber, type WalkState } from './walk-state.ts'
import type { WindowRead } from './window-read.ts'

/** Call it once the next pages are requested. */
export async function mapAhead<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
): Promise<void> {
  const endOfMerged = () => Math.min(windowRead.offset + windowRead.limit, countMerged(state))
  if (windowRead.mappedTo >= endOfMerged()) return
  // The requests leave first, and others have a turn after the page that was read.
  await nextTurn()
  const first = windowRead.mappedTo
  windowRead.mappedTo = Math.max(first, endOfMerged())
  try {
    for (let position = first; position < windowRead.mappedTo; position += 1) {
      mapRow(state, windowRead, position)
    }
  } catch {
    // An unreadable row fails the window when it is shown: it is mapped again then.
  }
}

/** A row whose page is not parsed is left for later. */
function mapRow<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  { mapped }: WindowRead<Page>,
  position: number,
): void {
  const place = placeAt(state, position)
  const stream = state.streams[streamNumber(place)]
  const number = stream?.table.pages[rowNumber(place)] ?? noPage
  const index = stream?.table.rows[rowNumber(place)] ?? noRow
  if (stream === undefined || number === noPage || index === noRow) return
  const page = stream.bodies.get(cursorOf(stream, number))?.parsed ?? null
  if (page === null) return
  const rows = mapped.get(page) ?? []
  rows[index] = page.map(index)
  mapped.set(page, rows)
}

/**
 * Continues a walk: reads the provider's pages in order (numbered ones several at a time) until enough rows past the
 * offset are merged, the page cap is reached, or there are no more. Ceiling and cap are implemented here only, for
 * transactions and trades alike (readings R16 to R18).
 */
import type { RowPage } from '#providers/port.ts'
import { fetchPage, lookUp, toHeld } from './fetch-page.ts'
import { mapAhead } from './map-ahead.ts'
import { makeReadAhead, type ReadAhead } from './read-ahead.ts'
import { appendPage, isBehind, renewCopies, type Stream } from './stream.ts'
import { countMerged, hold, merge, type WalkState } from './walk-state.ts'
import { MissingPage, ShiftedRows, StreamTrouble } from './walk-trouble.ts'
import type { WindowRead } from './window-read.ts'

/** Contract, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** Numbered pages are read this many at once (ARCHITECTURE.md, The reading river). */
export const pagesInFlight = 4

/** Throws StreamTrouble. */
export async function readUntil<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
): Promise<void> {
  const target = windowRead.offset + rowCeiling
  merge(state, windowRead, windowRead.shown)
  for (;;) {
    const { streams } = state
    const missing = target - countMerged(state)
    const isEnough = missing <= 0 || windowRead.pagesLeft <= 0
    const unfinished = streams.filter(({ ahead }) => ahead.length > 0)
    // Streams that block the merge: those without a row to compare, and restarted ones that must find their rows
    // again.
    const waiting = unfinished.filter(
      (stream) => isBehind(stream) || (!isEnough && stream.consumed >= stream.table.count),
    )
    if (waiting.length === 0) return requireFound(state)
    const batch = waiting.slice(
      0,
      isEnough ? pagesInFlight : Math.min(pagesInFlight, windowRead.pagesLeft),
    )
    // A single remaining stream is read to the end; of several, each reads a share only, since its rows may not be
    // needed yet.
    const share =
      Math.max(1, Math.floor(pagesInFlight / waiting.length)) * state.source.reader.pageSize
    const goal = {
      rows: unfinished.length === 1 ? missing : Math.min(missing, share),
      pages: Math.max(0, Math.floor(windowRead.pagesLeft / batch.length)),
    }
    await allOrFirstFailure(batch.map((stream) => readOn(state, windowRead, { stream, ...goal })))
    state.believed = false
  }
}

/**
 * A row that was shown, and that a restarted chain has not met, counts as deleted when the chain has reached its end. Before
 * that it may be on a later page.
 */
function requireFound({ streams }: WalkState<RowPage<unknown>>): void {
  for (const [index, stream] of streams.entries()) {
    if (stream.unlocated === 0) continue
    if (stream.ahead.length > 0) throw new StreamTrouble(index, new ShiftedRows())
    stream.unlocated = 0
  }
}

interface Goal<Page> {
  readonly stream: Stream<Page>
  /** Rows still to read. */
  readonly rows: number
  /** New pages that may be read. */
  readonly pages: number
}

/** Reads pages until it has that many more rows, or the provider has no more. */
async function readOn<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  { stream, rows, pages }: Goal<Page>,
): Promise<void> {
  const { reader } = state.source
  const flights = makeReadAhead<Page>(
    (cursor, context) => reader.read(stream.query, cursor, context),
    windowRead.call,
  )
  let rowsLeft = rows
  let pagesLeft = pages
  try {
    while (stream.ahead.length > 0 && (rowsLeft > 0 || isBehind(stream))) {
      if (pagesLeft + stream.free <= 0) return
      const wanted = Math.max(
        Math.ceil(rowsLeft / reader.pageSize),
        isBehind(stream) ? stream.free : 0,
      )
      const flight = takeNext(flights, stream, Math.min(wanted, pagesLeft + stream.free))
      await mapAhead(state, windowRead)
      const page = await flight
      windowRead.pagesRead += 1
      if (stream.free > 0) stream.free -= 1
      else {
        pagesLeft -= 1
        windowRead.pagesLeft -= 1
      }
      rowsLeft -= await takeIn(state, windowRead, { stream, page })
      merge(state, windowRead, windowRead.shown)
    }
  } catch (error) {
    throw new StreamTrouble(state.streams.indexOf(stream), error)
  } finally {
    flights.close()
  }
}

function takeNext<Page>(
  flights: ReadAhead<Page>,
  { ahead }: Stream<Page>,
  useful: number,
): Promise<Page> {
  return flights.take(ahead, Math.min(pagesInFlight, Math.max(1, useful)))
}

/** Returns the number of new rows. When a key needs an evicted page, that page is fetched again first. */
async function takeIn<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  windowRead: WindowRead<Page>,
  { stream, page }: { readonly stream: Stream<Page>; readonly page: Page },
): Promise<number> {
  const cursor = stream.ahead[0] ?? null
  const number = stream.pages.length
  hold(state, stream, toHeld(cursor, number, page))
  state.dirty = true
  for (;;) {
    try {
      return appendPage(stream, page, state.fingerprint)
    } catch (error) {
      if (!(error instanceof MissingPage)) throw error
      const held = await fetchPage(state, windowRead, { stream, page: error.page })
      lookUp(state, stream, held)
      renewCopies(state.source, stream)
    }
  }
}

/**
 * Like Promise.all, but waits for all of them after a failure too, so that none changes the walk during the next
 * request.
 */
async function allOrFirstFailure(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

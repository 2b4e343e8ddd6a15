/**
 * Requests several pages concurrently and returns them in order, so that the next pages load while one is processed.
 * It knows neither rows nor limits.
 */
import type { CallContext, PageCursor } from '#providers/port.ts'

type Cursor = PageCursor | null

export interface ReadAhead<Page> {
  /**
   * The page at the first of these cursors; the pages after it are requested too, at most `count` in flight. When the
   * cursors differ from those requested before, the pages are requested again.
   */
  take(cursors: readonly Cursor[], count: number): Promise<Page>
  /** Aborts requests whose pages were not taken. */
  close(): void
}

interface Flight<Page> {
  readonly cursor: Cursor
  readonly page: Promise<Page>
  readonly abandon: AbortController | null
}

/** Requests nothing yet. `read` receives a separate context for every page that may be abandoned. */
export function makeReadAhead<Page>(
  read: (cursor: Cursor, call: CallContext) => Promise<Page>,
  call: CallContext,
): ReadAhead<Page> {
  let flights: Flight<Page>[] = []

  function start(cursor: Cursor): Flight<Page> {
    // The next page is always awaited; only pages after it may become unnecessary.
    const abandon = flights.length === 0 ? null : new AbortController()
    const signal = abandon === null ? call.signal : AbortSignal.any([call.signal, abandon.signal])
    const page = read(cursor, { ...call, signal })
    // A rejected page that is never taken must not cause an unhandled rejection.
    page.catch(() => undefined)
    return { cursor, page, abandon }
  }

  function close(): void {
    for (const { abandon } of flights) abandon?.abort(new Error('the page is not needed any more'))
    flights = []
  }

  return {
    take(cursors, count) {
      if (flights.some(({ cursor }, index) => cursors[index] !== cursor)) close()
      for (let index = flights.length; index < Math.min(count, cursors.length); index += 1) {
        flights.push(start(cursors[index] ?? null))
      }
      const next = flights.shift()
      if (next === undefined) throw new RangeError('there is no cursor to read')
      return next.page
    },
    close,
  }
}

/**
 * Several pages on their way at once, handed over one by one in their order: while a page is used, the next ones are
 * already coming. It knows neither rows nor limits.
 */
import type { CallContext, PageCursor } from '#providers/port.ts'

type Cursor = PageCursor | null

export interface ReadAhead<Page> {
  /**
   * The page at the first of these cursors; those after it are asked for meanwhile, so that at most `count` are on their
   * way. Cursors that turn out others than those asked for are asked for anew.
   */
  take(cursors: readonly Cursor[], count: number): Promise<Page>
  /** Aborts what was asked for and not taken. */
  close(): void
}

interface Flight<Page> {
  readonly cursor: Cursor
  readonly page: Promise<Page>
  readonly abandon: AbortController | null
}

/** Asks for nothing yet. `read` is called with a context of its own for every page that may be given up. */
export function makeReadAhead<Page>(
  read: (cursor: Cursor, call: CallContext) => Promise<Page>,
  call: CallContext,
): ReadAhead<Page> {
  let flights: Flight<Page>[] = []

  function start(cursor: Cursor): Flight<Page> {
    // The next page to be taken is surely awaited: only those behind it may become surplus.
    const abandon = flights.length === 0 ? null : new AbortController()
    const signal = abandon === null ? call.signal : AbortSignal.any([call.signal, abandon.signal])
    const page = read(cursor, { ...call, signal })
    // Whatever is not taken in the end must not end the process.
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

/**
 * Reads on in a snapshot: page n + 1 of a list is read with what page n says, until the provider has no more rows, the
 * ceiling is reached or the page cap fires (reading R17). Each page is appended as it comes, so that a failure leaves
 * what was read before it. Numbered pages are looked at again at the end, because rows may have moved meanwhile.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, RowPage } from '#providers/port.ts'
import { isSamePrint, makeFingerprint } from './fingerprint.ts'
import { type Cursor, isEnded, type List, type Snapshot, type SnapshotPage } from './snapshot.ts'
import { type PageContext, printOf, type RowSource, takePage } from './take-page.ts'
import { ListChanged, RowsMoved, SnapshotGone } from './trouble.ts'

/** Contract, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** Bounds the pages of one request, in case a provider's pages never end. */
export const maxPages = 2000
const pagesInFlight = 4

export interface Reading<Page extends RowPage<unknown>> {
  readonly source: RowSource<Page>
  readonly snapshot: Snapshot
  readonly call: CallContext
  /** Reads to about 5,000 rows behind this one. */
  readonly offset: number
  /** Rows that were shown before: pages up to them count towards no cap (reading R17). */
  readonly shown: number
  /** New pages that may be read; null: no cap. */
  readonly pageCap: number | null
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** The names of the pages that this request has read. */
  readonly read: Set<string>
  /** Takes each page that was appended. */
  readonly take: (list: number, page: SnapshotPage, read: Page) => void
}

/** @throws RowsMoved, ListChanged, SnapshotGone, UpstreamError, the signal's reason. */
export async function readOn<Page extends RowPage<unknown>>(reading: Reading<Page>): Promise<void> {
  const { snapshot, shown, pageCap } = reading
  const lengths = snapshot.lists.map(({ pages }) => pages.length)
  let [pagesLeft, capLeft] = [maxPages, pageCap ?? maxPages]
  for (;;) {
    const missing = toMissing(reading)
    const isFree = snapshot.count() < shown
    if (missing <= 0 || pagesLeft <= 0 || (!isFree && capLeft <= 0)) break
    const waiting = snapshot.listWaiting()
    if (waiting.length === 0) break
    const most = Math.min(pagesLeft, isFree ? pagesInFlight : capLeft)
    const read = await readSome(reading, waiting, { most, missing })
    assert(read > 0, 'a list that waits is read on')
    pagesLeft -= read
    if (!isFree) capLeft -= read
  }
  for (const [index, list] of snapshot.lists.entries()) {
    if (list.pages.length > Math.max(1, lengths[index] ?? 0)) await lookAgain(reading, index)
  }
}

/**
 * Rows to read up to the ceiling. A row that a numbered page repeats counts towards it, so that five full pages are 5,000
 * rows, unless the rest of a list is smaller than that.
 */
function toMissing<Page extends RowPage<unknown>>({
  source,
  snapshot,
  offset,
}: Reading<Page>): number {
  const missing = offset + rowCeiling - snapshot.count()
  const open = snapshot.lists.filter((list) => !isEnded(list))
  const pages = snapshot.lists.reduce((sum, list) => sum + Math.max(0, list.pages.length - 1), 0)
  const repeated = pages * source.reader.overlap
  const isNearEnd = open.some(({ pages: [first], sums }) => {
    return (first?.total ?? 0) - sums.received <= repeated
  })
  return missing <= repeated && !isNearEnd ? 0 : missing
}

/** Reads the next page of each waiting list, or the next pages of a single one. Returns the number of pages read. */
async function readSome<Page extends RowPage<unknown>>(
  reading: Reading<Page>,
  waiting: readonly number[],
  { most, missing }: { readonly most: number; readonly missing: number },
): Promise<number> {
  const [only] = waiting
  if (only !== undefined && waiting.length === 1) return readList(reading, only, { most, missing })
  const batch = waiting.slice(0, Math.min(most, pagesInFlight))
  const results = await Promise.allSettled(
    batch.map((index) => readList(reading, index, { most: 1, missing: 1 })),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return batch.length
}

/** Numbered pages are read several at a time, because their cursors are known. */
async function readList<Page extends RowPage<unknown>>(
  reading: Reading<Page>,
  index: number,
  { most, missing }: { readonly most: number; readonly missing: number },
): Promise<number> {
  const { source, snapshot, call } = reading
  const { reader } = source
  const list = snapshot.lists[index]
  if (list === undefined) throw new RangeError(`there is no list ${index}`)
  const context = toContext(reading, index, list)
  const last = list.pages.at(-1)
  const useful = Math.ceil(missing / Math.max(1, reader.pageSize - reader.overlap))
  const cursors = (last === undefined ? [null] : [last.next, ...last.ahead]).slice(
    0,
    Math.max(1, Math.min(pagesInFlight, most, useful)),
  )
  const stop = new AbortController()
  const signal = AbortSignal.any([call.signal, stop.signal])
  const pages = cursors.map((cursor) => reader.read(context.query, cursor, { ...call, signal }))
  // A page that is not awaited any more must not cause an unhandled rejection.
  for (const page of pages) page.catch(() => undefined)
  try {
    for (const [at, page] of pages.entries()) {
      const read = await page.catch((error) => {
        throw last !== undefined && at === 0 && !reading.read.has(last.name) ? toGone(error) : error
      })
      await append(reading, context, { index, cursor: cursors[at] ?? null, page: read })
      // A page may end earlier than it was said to.
      if (list.pages.at(-1)?.next !== cursors[at + 1]) return at + 1
    }
    return pages.length
  } finally {
    stop.abort(new Error('the page is not needed any more'))
  }
}

function toContext<Page extends RowPage<unknown>>(
  { source, snapshot: { facts } }: Reading<Page>,
  index: number,
  list: List,
): PageContext<Page> {
  const query = source.queries[index]
  if (query === undefined) throw new RangeError(`list ${index} has no query`)
  return {
    source,
    list,
    query: { ...query, window: facts.window },
    digest: makeFingerprint(facts.seed),
    first: facts.firsts?.[index] ?? null,
  }
}

async function append<Page extends RowPage<unknown>>(
  { snapshot, offset, call, confirmEnd, read, take }: Reading<Page>,
  context: PageContext<Page>,
  { index, cursor, page }: { readonly index: number; readonly cursor: Cursor; readonly page: Page },
): Promise<void> {
  const { list, first, source } = context
  // Reading R20b: a page that was announced and comes without a row may be the end of the consent.
  const isAnnounced = list.pages.length > 0 && page.next === null && source.reader.overlap === 0
  if (isAnnounced && page.ownRows === 0) await confirmEnd()
  const taken = takePage(context, cursor, page)
  // The row that the list begins at was not found. A walk that begins does not look for it on later pages.
  const isOver = taken.next === null || offset === 0
  if (!taken.isBegun && first !== 'none' && isOver) throw new ListChanged(snapshot.facts.generation)
  list.append(taken)
  read.add(taken.name)
  take(index, taken, page)
  // The page was parsed and counted in this turn of the event loop.
  await nextTurn()
  call.signal.throwIfAborted()
}

/** A provider may answer an expired cursor with any status, also with a 5xx. */
function toGone(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error
  const { failure } = error
  const isRefused =
    failure.kind === 'rejected' || (failure.kind === 'unavailable' && failure.status !== null)
  return isRefused ? new SnapshotGone('the next cursor is refused', { cause: error }) : error
}

/** Rows that moved across pages already read show in the first page or in the total. */
async function lookAgain<Page extends RowPage<unknown>>(
  reading: Reading<Page>,
  index: number,
): Promise<void> {
  const { source, snapshot, call } = reading
  const list = snapshot.lists[index]
  const first = list?.pages[0]
  if (source.reader.overlap === 0 || list === undefined || first === undefined) return
  const { query, digest } = toContext(reading, index, list)
  const page = await source.reader.read(query, null, call)
  if (page.total !== first.total || !isSamePrint(printOf(page, 0, digest), first.top)) {
    throw new RowsMoved('the first page is another one than before')
  }
}

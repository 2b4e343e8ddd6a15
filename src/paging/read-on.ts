/**
 * Reads on in a snapshot: page n + 1 of a list is read with what page n says, until the provider has no more
 * rows, the ceiling is reached or the page cap fires (reading R17). Each page is appended as it comes, so
 * that a failure leaves what was read before it. Numbered pages are looked at again at the end, because rows
 * may have moved meanwhile.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import { isSamePrint } from './fingerprint.ts'
import { type Cursor, isEnded, type Snapshot, type SnapshotPage } from './snapshot.ts'
import {
  type AnyPage,
  listQuery,
  printOf,
  type ReadPage,
  type RowSource,
  takePage,
} from './take-page.ts'
import { Trouble } from './trouble.ts'

/** Contract, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** Bounds the pages of one request, in case a provider's pages never end. */
const maxPages = 2000
const pagesInFlight = 4

export interface Reading {
  readonly source: RowSource
  readonly snapshot: Snapshot
  readonly call: CallContext
  /** Reads to about 5,000 rows behind this one. */
  readonly offset: number
  /** A cursor of an earlier request may have expired: it was read a while ago. */
  readonly mayExpire: boolean
  /** Rows that were shown before: pages up to them count towards no cap (reading R17). */
  readonly shown: number
  /** New pages that may be read; null: no cap. */
  readonly pageCap: number | null
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** Takes each page that was appended to a list. */
  readonly take: (page: SnapshotPage, read: AnyPage, list: number) => void | Promise<void>
}

/** @throws Trouble, UpstreamError, the signal's reason. */
export async function readOn(reading: Reading): Promise<void> {
  const { snapshot, shown, pageCap, confirmEnd } = reading
  /** The last page of each list that an earlier request has read. */
  const held = snapshot.lists.map(({ pages }) => pages.at(-1))
  let [pagesLeft, capLeft] = [maxPages, pageCap ?? maxPages]
  for (;;) {
    const isFree = snapshot.count() < shown
    const most = Math.min(pagesInFlight, pagesLeft, isFree ? pagesLeft : capLeft)
    const next = listNext(reading).slice(0, most)
    if (next.length === 0) break
    const read = await readPages(reading, next, held)
    assert(read > 0, 'a list that waits is read on')
    pagesLeft -= read
    if (!isFree) capLeft -= read
  }
  for (const [index, { pages }] of snapshot.lists.entries()) {
    if (pages.length > 1 && pages.at(-1) !== held[index]) await lookAgain(reading, index)
  }
  const isEmpty = snapshot.lists.every(({ sums }) => sums.ownRows === 0)
  if (isEmpty && snapshot.isComplete()) await confirmEnd()
}

interface NextPage {
  readonly index: number
  readonly cursor: Cursor
}

/**
 * The next page of each list that must be read further, or the next pages of a single one, where their
 * cursors are known.
 */
function listNext(reading: Reading): readonly NextPage[] {
  const { snapshot, source } = reading
  const missing = toMissing(reading)
  if (missing <= 0) return []
  const next = snapshot.listWaiting().map((index) => {
    const { next: cursor, ahead } = snapshot.getList(index).pages.at(-1) ?? {
      next: null,
      ahead: [],
    }
    return { index, cursor, ahead }
  })
  const [only] = next
  if (only === undefined || next.length > 1) return next
  const useful = Math.ceil(missing / Math.max(1, source.reader.pageSize - source.reader.overlap))
  // Without it nothing would be read, and an unfinished list would look empty.
  assert(useful > 0, 'a reader says how many rows its pages have')
  return [only.cursor, ...only.ahead]
    .slice(0, useful)
    .map((cursor) => ({ index: only.index, cursor }))
}

/**
 * Rows to read up to the ceiling. A row that a numbered page repeats counts towards it, so that five full
 * pages are 5,000 rows, unless the rest of a list is smaller than that.
 */
function toMissing({ source, snapshot: { lists, count }, offset }: Reading): number {
  const missing = offset + rowCeiling - count()
  const pages = lists.reduce((sum, list) => sum + Math.max(0, list.pages.length - 1), 0)
  const repeated = pages * source.reader.overlap
  const isNearEnd = lists.some((list) => {
    return !isEnded(list) && (list.pages[0]?.total ?? 0) - list.sums.received <= repeated
  })
  return missing <= repeated && !isNearEnd ? 0 : missing
}

/** Returns the number of pages read. */
async function readPages(
  reading: Reading,
  next: readonly NextPage[],
  held: readonly (SnapshotPage | undefined)[],
): Promise<number> {
  const { source, snapshot, call, mayExpire } = reading
  const stop = new AbortController()
  const signal = next.length > 1 ? AbortSignal.any([call.signal, stop.signal]) : call.signal
  const coming = next.map(({ index, cursor }) => {
    const query = listQuery(source, snapshot, index)
    const page = source.reader.read(query, cursor, { ...call, signal })
    // A page that is not awaited any more must not cause an unhandled rejection.
    page.catch(() => undefined)
    return { index, cursor, page }
  })
  try {
    for (const [at, { index, cursor, page }] of coming.entries()) {
      const last = snapshot.getList(index).pages.at(-1)
      // The page before may end earlier than it was said to.
      if (last !== undefined && last.next !== cursor) return at
      const isStored = last !== undefined && last === held[index]
      const read = await page.catch((error) => {
        throw isStored ? toGone(error, mayExpire) : error
      })
      await append(reading, { index, cursor, page: read })
    }
    return coming.length
  } finally {
    stop.abort(new Error('the page is not needed any more'))
  }
}

async function append(reading: Reading, read: ReadPage): Promise<void> {
  const { source, snapshot, offset, call, confirmEnd, take } = reading
  const { index, page } = read
  const { generation, firsts } = snapshot.facts
  const list = snapshot.getList(index)
  // Reading R20b: a page that was announced and comes without a row may be the end of the consent.
  const isAnnounced = list.pages.length > 0 && page.next === null && source.reader.overlap === 0
  if (isAnnounced && page.ownRows === 0) await confirmEnd()
  const taken = takePage(source, snapshot, read)
  const first = firsts?.[index] ?? 'none'
  const isMissing = first !== 'none' && list.sums.count + taken.rows.length === 0
  // A walk that begins does not look for its first row on later pages.
  if (isMissing && (taken.next === null || offset === 0)) {
    throw new Trouble('changed', 'the first row is not there any more', generation)
  }
  list.append(taken)
  await take(taken, page, index)
  // The page was parsed and counted in this turn of the event loop.
  await nextTurn()
  call.signal.throwIfAborted()
}

/**
 * A provider may answer an expired cursor with any status, also with a 5xx. Of a cursor that was read just
 * now that is an outage: what was shown is not read again for it.
 */
function toGone(error: unknown, mayExpire: boolean): unknown {
  if (!(error instanceof UpstreamError)) return error
  const { failure } = error
  const isRefused =
    failure.kind === 'rejected' ||
    (mayExpire && failure.kind === 'unavailable' && failure.status !== null)
  return isRefused ? new Trouble('gone', 'the next cursor is refused') : error
}

/** Rows that moved across pages already read show in the first page or in the total. */
async function lookAgain({ source, snapshot, call }: Reading, index: number): Promise<void> {
  const [first] = snapshot.getList(index).pages
  if (source.reader.overlap === 0 || first === undefined) return
  const page = await source.reader.read(listQuery(source, snapshot, index), null, call)
  if (page.total !== first.total || !isSamePrint(printOf(source, snapshot, page, 0), first.top)) {
    throw new Trouble('moved', 'the first page is another one than before')
  }
}

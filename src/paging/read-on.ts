/**
 * Reads on in a snapshot: page n + 1 of a list is read with what page n says, until the provider has no more rows, the
 * ceiling is reached or the page cap fires (reading R17). Each page is appended as it comes, so that a failure leaves
 * what was read before it. Numbered pages are looked at again at the end, because rows may have moved meanwhile.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import { isSamePrint, makeFingerprint } from './fingerprint.ts'
import { type Cursor, isEnded, type Snapshot, type SnapshotPage } from './snapshot.ts'
import { type AnyPage, listQuery, printOf, type RowSource, takePage } from './take-page.ts'
import { Trouble } from './trouble.ts'

/** Contract, Limits: about 5,000 matching rows past the offset. */
const rowCeiling = 5000
/** Bounds the pages of one request, in case a provider's pages never end. */
export const maxPages = 2000
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
  const { snapshot, shown, pageCap } = reading
  /** The last page of each list that an earlier request has read. */
  const held = snapshot.lists.map(({ pages }) => pages.at(-1))
  let [pagesLeft, capLeft] = [maxPages, pageCap ?? maxPages]
  for (;;) {
    const missing = toMissing(reading)
    const isFree = snapshot.count() < shown
    if (missing <= 0 || pagesLeft <= 0 || (!isFree && capLeft <= 0)) break
    const waiting = snapshot.listWaiting()
    if (waiting.length === 0) break
    const most = Math.min(pagesLeft, isFree ? pagesInFlight : capLeft)
    const read = await readSome(reading, waiting, { most, missing, held })
    assert(read > 0, 'a list that waits is read on')
    pagesLeft -= read
    if (!isFree) capLeft -= read
  }
  for (const [index, { pages }] of snapshot.lists.entries()) {
    if (pages.length > 1 && pages.at(-1) !== held[index]) await lookAgain(reading, index)
  }
}

/**
 * Rows to read up to the ceiling. A row that a numbered page repeats counts towards it, so that five full pages are 5,000
 * rows, unless the rest of a list is smaller than that.
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

interface Stretch {
  /** Pages that may be read, and rows that are to be read. */
  readonly most: number
  readonly missing: number
  readonly held: readonly (SnapshotPage | undefined)[]
}

/** Reads the next page of each waiting list, or the next pages of a single one. Returns the number of pages read. */
async function readSome(
  reading: Reading,
  waiting: readonly number[],
  stretch: Stretch,
): Promise<number> {
  const [only] = waiting
  if (only !== undefined && waiting.length === 1) return readList(reading, only, stretch)
  const batch = waiting.slice(0, Math.min(stretch.most, pagesInFlight))
  const results = await Promise.allSettled(
    batch.map((index) => readList(reading, index, { ...stretch, most: 1 })),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return batch.length
}

/** Numbered pages are read several at a time, because their cursors are known. */
async function readList(reading: Reading, index: number, stretch: Stretch): Promise<number> {
  const { source, snapshot, call } = reading
  const { most, missing, held } = stretch
  const { reader } = source
  const list = snapshot.getList(index)
  const query = listQuery(source, snapshot, index)
  const last = list.pages.at(-1)
  const useful = Math.ceil(missing / Math.max(1, reader.pageSize - reader.overlap))
  const count = Math.max(1, Math.min(pagesInFlight, most, useful))
  const cursors = last === undefined ? [null] : [last.next, ...last.ahead].slice(0, count)
  const stop = new AbortController()
  const signal = AbortSignal.any([call.signal, stop.signal])
  const pages = cursors.map((cursor) => reader.read(query, cursor, { ...call, signal }))
  // A page that is not awaited any more must not cause an unhandled rejection.
  for (const page of pages) page.catch(() => undefined)
  try {
    for (const [at, page] of pages.entries()) {
      const isStored = last !== undefined && at === 0 && held[index] === last
      const read = await page.catch((error) => {
        throw isStored ? toGone(error, reading.mayExpire) : error
      })
      await append(reading, { index, cursor: cursors[at] ?? null, page: read })
      // A page may end earlier than it was said to.
      if (list.pages.at(-1)?.next !== cursors[at + 1]) return at + 1
    }
    return pages.length
  } finally {
    stop.abort(new Error('the page is not needed any more'))
  }
}

async function append(
  { source, snapshot, offset, call, confirmEnd, take }: Reading,
  read: { readonly index: number; readonly cursor: Cursor; readonly page: AnyPage },
): Promise<void> {
  const { index, page } = read
  const { generation, firsts } = snapshot.facts
  const list = snapshot.getList(index)
  // Reading R20b: a page that was announced and comes without a row may be the end of the consent.
  const isAnnounced = list.pages.length > 0 && page.next === null && source.reader.overlap === 0
  if (isAnnounced && page.ownRows === 0) await confirmEnd()
  const taken = takePage(source, snapshot, read)
  // The row that the list begins at was not found. A walk that begins does not look for it on later pages.
  const isOver = taken.next === null || offset === 0
  if (!taken.isBegun && firsts?.[index] !== 'none' && isOver) {
    throw new Trouble('changed', 'the first row is not there any more', generation)
  }
  list.append(taken)
  await take(taken, page, index)
  // The page was parsed and counted in this turn of the event loop.
  await nextTurn()
  call.signal.throwIfAborted()
}

/**
 * A provider may answer an expired cursor with any status, also with a 5xx. Of a cursor that was read just now that is an
 * outage: what was shown is not read again for it.
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
  const top = printOf(page, 0, makeFingerprint(snapshot.facts.seed))
  if (page.total !== first.total || !isSamePrint(top, first.top)) {
    throw new Trouble('moved', 'the first page is another one than before')
  }
}

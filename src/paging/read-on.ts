/**
 * Reads on in a snapshot: page n + 1 of a list is read with what page n says, until the provider has no more
 * rows, the ceiling is reached or the page cap fires (reading R17). Each page is appended as it comes, so
 * that a failure leaves what was read before it. Pages without a row of the connection are doubted (reading
 * R20b). Numbered pages are looked at again at the end, because rows may have moved meanwhile.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { mapInBatches } from '#kernel/map-in-batches.ts'
import { UpstreamError } from '#providers/failure.ts'
import { isEnded, isWaiting, type List, type Snapshot, type SnapshotPage } from './snapshot.ts'
import { listQuery, printAt, type ReadPage, type RowsQuestion, takePage } from './take-page.ts'
import { Trouble } from './trouble.ts'

/** Contract, Limits: about 5,000 matching rows past the offset may be read by one request. */
export const rowCeiling = 5000
/** Bounds the pages of one request, in case a provider's pages never end. */
const maxPages = 2000
const pagesInFlight = 4

export interface Reading extends RowsQuestion {
  readonly snapshot: Snapshot
  /** Reads to about 5,000 rows behind this one. */
  readonly offset: number
  /** A cursor of an earlier request may have expired: it was read a while ago. */
  readonly mayExpire: boolean
  /** Rows that were shown before: pages up to them count towards no cap (reading R17). */
  readonly shown: number
  /** New pages that may be read; null: no cap. */
  readonly pageCap: number | null
  /** Takes each page that was appended to a list. */
  readonly take: (page: SnapshotPage, read: ReadPage['page'], list: List) => void | Promise<void>
}

/** @throws Trouble, UpstreamError, the signal's reason. */
export async function readOn(reading: Reading): Promise<void> {
  const { snapshot, shown, pageCap, source } = reading
  const { lists, order } = snapshot
  const held = new Set(lists.map(({ pages }) => pages.at(-1)))
  let [pagesLeft, capLeft] = [maxPages, pageCap ?? maxPages]
  for (;;) {
    const isFree = order.length < shown
    const most = Math.min(pagesInFlight, pagesLeft, isFree ? pagesLeft : capLeft)
    const next = listNext(reading).slice(0, most)
    if (next.length === 0) break
    const read = await readPages(reading, next, held)
    assert(read > 0, 'a list that waits is read on')
    pagesLeft -= read
    if (!isFree) capLeft -= read
  }
  if (lists.length > 0 && source.reader.overlap > 0) return lookAgain(reading, held)
  await confirmPages(reading)
}

/**
 * Reading R20b: where the last pages of a list have no row of the connection, rows may be missing there. That
 * nothing is pending is not unusual, nor that one account of several has no row; pending rows prove nothing
 * of others.
 */
async function confirmPages({ source, snapshot, confirmEnd }: Reading): Promise<void> {
  const { lists } = snapshot
  const posted = lists.filter(({ index }) => source.queries[index]?.pending !== 'alone')
  const isEmpty = posted.every(({ pages }) => pages.at(-1)?.ownRows === 0)
  const isOver = (list: List) => isEnded(list) && (!isEmpty || snapshot.isComplete())
  const isDoubtful = posted.some(
    (list) => isOver(list) && list.doubtful > 0 && (isEmpty || list.pages.length > 1),
  )
  if (lists.length === 0 || isDoubtful) await confirmEnd()
  for (const list of lists.filter(isOver)) list.doubtful = 0
}

type NextPage = Omit<ReadPage, 'page'>
/** The last pages that earlier requests have read. */
type HeldPages = ReadonlySet<SnapshotPage | undefined>

/**
 * The next page of each list that must be read further, or the next pages of a single one, where their
 * cursors are known.
 */
function listNext(reading: Reading): readonly NextPage[] {
  const { snapshot, source } = reading
  const missing = toMissing(reading)
  const waiting = missing <= 0 ? [] : snapshot.lists.filter(isWaiting)
  const [list] = waiting
  const last = list?.pages.at(-1)
  if (list === undefined || last === undefined || waiting.length > 1) {
    return waiting.map((one) => ({ list: one, cursor: one.pages.at(-1)?.next ?? null }))
  }
  const useful = Math.ceil(missing / Math.max(1, source.reader.pageSize - source.reader.overlap))
  // Without it nothing would be read, and an unfinished list would look empty.
  assert(useful > 0, 'a reader says how many rows its pages have')
  return [last.next, ...last.ahead].slice(0, useful).map((cursor) => ({ list, cursor }))
}

/**
 * Rows to read up to the ceiling. A row that a numbered page repeats counts towards it, so that five full
 * pages are 5,000 rows, unless the rest of a list is smaller than that.
 */
function toMissing({ source, snapshot: { lists, order }, offset }: Reading): number {
  const missing = offset + rowCeiling - order.length
  const pages = lists.reduce((sum, list) => sum + Math.max(0, list.pages.length - 1), 0)
  const repeated = pages * source.reader.overlap
  const isNearEnd = lists.some((list) => {
    const { total, received } = list.pages.at(-1) ?? { total: null, received: 0 }
    return !isEnded(list) && (total ?? 0) - received <= repeated
  })
  return missing <= repeated && !isNearEnd ? 0 : missing
}

/** Returns the number of pages read. */
async function readPages(reading: Reading, next: readonly NextPage[], held: HeldPages) {
  const { source, snapshot, call, mayExpire } = reading
  const stop = new AbortController()
  const signal = next.length > 1 ? AbortSignal.any([call.signal, stop.signal]) : call.signal
  const coming = next.map(({ list, cursor }) => {
    const page = source.reader.read(listQuery(source, snapshot, list), cursor, { ...call, signal })
    // A page that is not awaited any more must not cause an unhandled rejection.
    page.catch(() => undefined)
    return { list, cursor, page }
  })
  try {
    for (const [at, { list, cursor, page }] of coming.entries()) {
      const last = list.pages.at(-1)
      // The page before may end earlier than it was said to.
      if (last !== undefined && last.next !== cursor) return at
      const read = await page.catch((error) => {
        throw last !== undefined && held.has(last) ? toGone(error, mayExpire) : error
      })
      await append(reading, { list, cursor, page: read })
    }
    return coming.length
  } finally {
    stop.abort(new Error('the page is not needed any more'))
  }
}

async function append(reading: Reading, read: ReadPage): Promise<void> {
  const { source, snapshot, offset, call, confirmEnd, take } = reading
  const { list, page } = read
  const { generation, firsts } = snapshot.facts
  const taken = takePage(source, snapshot, read)
  const count = list.rows.length + taken.places.length
  const isMissing = count === 0 && (firsts?.[list.index] ?? 'none') !== 'none'
  // A walk that begins does not look for its first row on later pages.
  if (isMissing && (taken.next === null || offset === 0)) {
    if (page.ownRows === 0 && source.reader.overlap === 0) await confirmEnd()
    throw new Trouble('changed', 'the first row is not there any more', generation)
  }
  snapshot.append(list, taken)
  if (list.rows.length < count) page.noteRepeated?.()
  await take(taken, page, list)
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
  const isOutage = failure.kind === 'unavailable' && failure.status !== null
  const isRefused = failure.kind === 'rejected' || (mayExpire && isOutage)
  return isRefused ? new Trouble('gone', 'the next cursor is refused') : error
}

/** Rows that moved, or came to an empty list before its doubt, show in the first page or in the total. */
async function lookAgain(reading: Reading, held: HeldPages): Promise<void> {
  const { source, snapshot, call, confirmEnd } = reading
  const fresh = snapshot.lists.filter(({ pages }) => !held.has(pages.at(-1)))
  const empty = fresh.filter(({ pages }) => pages.at(-1)?.ownRows === 0)
  const accounts = empty.flatMap((list) => listQuery(source, snapshot, list).accounts)
  if (accounts.length > 0) await confirmEnd(accounts)
  const again = fresh.filter((list) => list.pages.length > 1 || empty.includes(list))
  await mapInBatches(again, pagesInFlight, async (list) => {
    const page = await source.reader.read(listQuery(source, snapshot, list), null, call)
    const bottom = printAt(source, snapshot, page, page.length - 1)
    if (page.total !== list.pages[0]?.total || bottom !== list.pages[0]?.bottom) {
      throw new Trouble('moved', 'the first page is another one than before')
    }
  })
  for (const list of fresh) list.doubtful = 0
}

/** What a caller gets. Rows that go on moving may come from a login that has ended (reading R20b). */
export async function toRowsFailure(
  { source: { provider }, confirmEnd }: RowsQuestion,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof Trouble)) return error
  if (error.kind === 'moved') {
    await confirmEnd()
    const detail = 'rows moved between the pages while they were read'
    return new UpstreamError(provider, { kind: 'malformed', detail }, error)
  }
  const detail = 'the snapshot is gone or changed, or other processes were reading the same rows'
  return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
}

/**
 * Turns a page of the provider into a page of a snapshot: which of its rows the query shows, their times and
 * fingerprints. A page is judged here, once: pages in a cycle, numbered pages that disagree with each other.
 */
import { randomUUID } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { isSamePrint, makeFingerprint, toNumber } from './fingerprint.ts'
import type { Cursor, Snapshot, SnapshotPage } from './snapshot.ts'
import { Trouble } from './trouble.ts'

export type AnyPage = RowPage<unknown>

export interface RowSource<Page extends AnyPage = AnyPage> {
  readonly provider: Provider
  readonly reader: RowReader<Page>
  /** One for each list. */
  readonly queries: readonly RowsQuery[]
  /** The id without a number, whose repetitions are numbered. Absent: rows are not numbered. */
  keyOf?(page: Page, index: number): string
}

/** A page of one of the lists, as the provider sent it. */
export interface ReadPage {
  readonly index: number
  readonly cursor: Cursor
  readonly page: AnyPage
}

/** The query of one list. A bound that is "now" stays where it was when the generation began. */
export function listQuery(
  { queries }: Pick<RowSource, 'queries'>,
  { facts }: Snapshot,
  list: number,
): RowsQuery {
  const query = queries[list]
  if (query === undefined) throw new RangeError(`list ${list} has no query`)
  return { ...query, window: facts.window }
}

/** The fingerprint of a row of any kind on a numbered page; null where there is none. */
export function printOf({ reader }: RowSource, { facts }: Snapshot, page: AnyPage, at: number) {
  if (reader.overlap === 0 || at < 0 || at >= page.length) return null
  const head = page.head(at)
  return head === null ? null : makeFingerprint(facts.seed)(head.id)
}

/**
 * The page as it is appended to its list.
 * @throws Trouble `moved` where a numbered page does not continue the page before it.
 * @throws UpstreamError `malformed` for a row without id or time, and for pages in a cycle.
 */
export function takePage(source: RowSource, snapshot: Snapshot, read: ReadPage): SnapshotPage {
  const { cursor, page } = read
  const list = snapshot.getList(read.index)
  const { overlap } = source.reader
  const { next, ahead, total, ownRows, length } = page
  if (next !== null && (next === cursor || list.hasCursor(next))) {
    const detail = 'the pages form a cycle'
    throw new UpstreamError(source.provider, { kind: 'malformed', detail })
  }
  const before = list.pages.at(-1)
  const repeated = before === undefined ? 0 : overlap
  const received = Math.max(0, length - repeated)
  const top = printOf(source, snapshot, page, 0)
  if (repeated > 0 && (total !== before?.total || !isSamePrint(top, before.bottom))) {
    throw new Trouble('moved', 'a page does not begin with the last row of the page before it')
  }
  if (overlap > 0 && next === null && total !== null && list.sums.received + received < total) {
    throw new Trouble('moved', 'the pages have fewer rows than their total')
  }
  const bottom = printOf(source, snapshot, page, length - 1)
  const facts = { cursor, next, ahead, total, received, ownRows, top, bottom }
  return { name: randomUUID(), ...facts, ...listRows(source, snapshot, read, repeated) }
}

/**
 * The rows behind those that the page repeats. A row that the provider sends twice within one read counts
 * once, where it comes first.
 */
function listRows(
  { keyOf }: RowSource,
  snapshot: Snapshot,
  { index, page }: ReadPage,
  repeated: number,
): Pick<SnapshotPage, 'rows' | 'times' | 'prints' | 'fills'> {
  const { window, seed, firsts } = snapshot.facts
  const { from, to } = window
  const list = snapshot.getList(index)
  const digest = makeFingerprint(seed)
  const first = firsts?.[index] ?? null
  const [rows, times, prints, fills]: [number[], number[], number[], number[]] = [[], [], [], []]
  const here = new Set<number>()
  let isBegun = first === null || list.sums.count > 0
  for (let entry = repeated; entry < page.length; entry += 1) {
    const head = page.head(entry)
    if (head === null) continue
    if ((from !== null && head.time < from) || (to !== null && head.time > to)) continue
    const print = digest(head.id)
    // Rows above the first one arrived after the generation began.
    isBegun ||= first !== 'none' && first?.time === head.time && isSamePrint(first, print)
    const number = toNumber(print)
    if (!isBegun || here.has(number) || list.hasSeen(print)) continue
    here.add(number)
    rows.push(entry)
    times.push(head.time)
    prints.push(print.first, print.second)
    if (keyOf !== undefined) fills.push(toNumber(digest(`fill ${keyOf(page, entry)}`)))
  }
  return {
    rows: Uint32Array.from(rows),
    times: Float64Array.from(times),
    prints: Uint32Array.from(prints),
    fills: Float64Array.from(fills),
  }
}

/**
 * Turns a page of the provider into a page of a snapshot: which of its rows the query shows, their times and
 * fingerprints. A page is judged here, once: pages in a cycle, numbered pages that disagree with each other.
 */
import { randomUUID } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import type { Print } from '#kernel/fingerprint.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { AccountRef, CallContext, RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import type { Cursor, List, Snapshot, SnapshotPage } from './snapshot.ts'
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

/** What is asked of the room. */
export interface RowsQuestion<Page extends AnyPage = AnyPage> {
  readonly source: RowSource<Page>
  readonly call: CallContext
  /** Resolves when it can be trusted that these accounts, or all, have no more rows (reading R20b). */
  readonly confirmEnd: (accounts?: readonly AccountRef[]) => Promise<void>
}

/** A page of a list as the provider sent it. */
export interface ReadPage {
  readonly list: List
  readonly cursor: Cursor
  readonly page: AnyPage
}

/** The query of one list. A bound that is "now" stays where it was when the generation began. */
export function listQuery({ queries }: RowSource, { facts }: Snapshot, { index }: List): RowsQuery {
  const query = queries[index]
  if (query === undefined) throw new RangeError(`list ${index} has no query`)
  return { ...query, window: facts.window }
}

/** The fingerprint of a row of any kind on a numbered page; null where there is none. */
export function printAt(
  { reader }: RowSource,
  { digest }: Snapshot,
  page: AnyPage,
  at: number,
): Print | null {
  if (reader.overlap === 0 || at < 0 || at >= page.length) return null
  const head = page.head(at)
  return head === null ? null : digest(head.id)
}

/**
 * The page as it is appended to its list.
 * @throws Trouble `moved` where a numbered page does not continue the page before it.
 * @throws UpstreamError `malformed` for a row without id or time, and for pages in a cycle.
 */
export function takePage(source: RowSource, snapshot: Snapshot, read: ReadPage): SnapshotPage {
  const { cursor, page, list } = read
  const { overlap } = source.reader
  const { next, ahead, total, length } = page
  if (next !== null && (next === cursor || list.pages.some((one) => one.cursor === next))) {
    const detail = 'the pages form a cycle'
    throw new UpstreamError(source.provider, { kind: 'malformed', detail })
  }
  const before = list.pages.at(-1)
  const repeated = before === undefined ? 0 : overlap
  const received = (before?.received ?? 0) + Math.max(0, length - repeated)
  const ownRows = (before?.ownRows ?? 0) + page.ownRows
  const isNext = total === before?.total && printAt(source, snapshot, page, 0) === before.bottom
  if (repeated > 0 && !isNext) {
    throw new Trouble('moved', 'a page does not begin with the last row of the page before it')
  }
  // Behind more rows than the total there may be others that nobody asks for.
  if (overlap > 0 && next === null && total !== null && received !== total) {
    throw new Trouble('moved', 'the pages have fewer or more rows than their total')
  }
  const bottom = printAt(source, snapshot, page, length - 1)
  const facts = { cursor, next, ahead, total, received, ownRows, bottom, age: page.age ?? null }
  return { name: randomUUID(), ...facts, ...listRows(source, snapshot, read, repeated) }
}

/** The rows behind those that the page repeats. */
function listRows(
  { keyOf }: RowSource,
  { facts, digest }: Snapshot,
  { list, page }: ReadPage,
  repeated: number,
): Pick<SnapshotPage, 'places' | 'times' | 'prints' | 'fills'> {
  const { from, to } = facts.window
  const first = facts.firsts?.[list.index]
  const [places, times, prints, fills]: [number[], number[], number[], number[]] = [[], [], [], []]
  let isReached = first === undefined || list.rows.length > 0
  for (let at = repeated; at < page.length; at += 1) {
    const head = page.head(at)
    if (head === null) continue
    if ((from !== null && head.time < from) || (to !== null && head.time > to)) continue
    const print = digest(head.id)
    // Rows above the first one arrived after the generation began.
    isReached ||= first !== 'none' && first?.time === head.time && first.print === print
    if (!isReached) continue
    places.push(at)
    times.push(head.time)
    prints.push(print)
    if (keyOf !== undefined) fills.push(digest(`fill ${keyOf(page, at)}`))
  }
  return {
    places: Uint32Array.from(places),
    times: Float64Array.from(times),
    prints: Float64Array.from(prints),
    fills: Float64Array.from(fills),
  }
}

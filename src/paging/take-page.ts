/**
 * Turns a page of the provider into a page of a snapshot: which of its rows the query shows, their times and
 * fingerprints. A page is judged here, once: pages in a cycle, numbered pages that disagree with each other.
 */
import { randomUUID } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import {
  type Fingerprint,
  isSamePrint,
  makeFingerprint,
  type Print,
  toNumber,
} from './fingerprint.ts'
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

/**
 * The page as it is appended to the list.
 * @throws Trouble `moved` where a numbered page does not continue the page before it.
 * @throws UpstreamError `malformed` for a row without id or time, and for pages in a cycle.
 */
export function takePage(
  source: RowSource,
  snapshot: Snapshot,
  {
    index,
    cursor,
    page,
  }: { readonly index: number; readonly cursor: Cursor; readonly page: AnyPage },
): SnapshotPage {
  const list = snapshot.getList(index)
  const digest = makeFingerprint(snapshot.facts.seed)
  const { overlap } = source.reader
  const { next, ahead, total, ownRows, length } = page
  if (next !== null && (next === cursor || list.hasCursor(next))) {
    const detail = 'the pages form a cycle'
    throw new UpstreamError(source.provider, { kind: 'malformed', detail })
  }
  const before = list.pages.at(-1)
  const repeated = before === undefined ? 0 : overlap
  const received = Math.max(0, length - repeated)
  const [top, bottom] = [0, length - 1].map((at) =>
    overlap > 0 ? printOf(page, at, digest) : null,
  )
  if (repeated > 0 && (total !== before?.total || !isSamePrint(top ?? null, before.bottom))) {
    throw new Trouble('moved', 'a page does not begin with the last row of the page before it')
  }
  if (overlap > 0 && next === null && total !== null && list.sums.received + received < total) {
    throw new Trouble('moved', 'the pages have fewer rows than their total')
  }
  const facts = { name: randomUUID(), cursor, next, ahead, total, received, ownRows }
  const rows = listRows(source, snapshot, list, { index, page, repeated, digest })
  return { ...facts, top: top ?? null, bottom: bottom ?? null, ...rows }
}

export function printOf(page: AnyPage, index: number, digest: Fingerprint): Print | null {
  const head = index < 0 || index >= page.length ? null : page.head(index)
  return head === null ? null : digest(head.id)
}

interface PageToTake {
  readonly index: number
  readonly page: AnyPage
  /** Rows that the page before has too. */
  readonly repeated: number
  readonly digest: Fingerprint
}

/** A row that the provider sends twice within one read counts once, where it comes first. */
function listRows(
  { keyOf }: RowSource,
  { facts }: Snapshot,
  list: List,
  { index, page, repeated, digest }: PageToTake,
): Pick<SnapshotPage, 'isBegun' | 'rows' | 'times' | 'prints' | 'fills'> {
  const { from, to } = facts.window
  const first = facts.firsts?.[index] ?? null
  const [rows, times, prints, fills]: [number[], number[], number[], number[]] = [[], [], [], []]
  const here = new Set<number>()
  let isBegun = list.pages.at(-1)?.isBegun ?? first === null
  for (let entry = repeated; entry < page.length; entry += 1) {
    const head = page.head(entry)
    if (head === null) continue
    if ((from !== null && head.time < from) || (to !== null && head.time > to)) continue
    const print = digest(head.id)
    // Rows above the first one arrived after the generation began.
    isBegun ||=
      first !== null && first !== 'none' && first.time === head.time && isSamePrint(first, print)
    const number = toNumber(print)
    if (!isBegun || here.has(number) || list.hasSeen(print)) continue
    here.add(number)
    rows.push(entry)
    times.push(head.time)
    prints.push(print.first, print.second)
    if (keyOf !== undefined) fills.push(toNumber(digest(`fill ${keyOf(page, entry)}`)))
  }
  return {
    isBegun,
    rows: Uint32Array.from(rows),
    times: Float64Array.from(times),
    prints: Uint32Array.from(prints),
    fills: Float64Array.from(fills),
  }
}

/**
 * Turns a page of the provider into a page of a snapshot: which of its rows the query shows, their times and
 * fingerprints. A page is judged here, once: pages in a cycle, numbered pages that disagree with each other.
 */
import { randomUUID } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { RowPage, RowReader, RowsQuery } from '#providers/port.ts'
import { type Fingerprint, isSamePrint, type Print, toNumber } from './fingerprint.ts'
import type { Cursor, First, List, SnapshotPage } from './snapshot.ts'
import { RowsMoved } from './trouble.ts'

export interface RowSource<Page extends RowPage<unknown>> {
  readonly provider: Provider
  readonly reader: RowReader<Page>
  /** One for each list. */
  readonly queries: readonly RowsQuery[]
  /** The id without a number, whose repetitions are numbered. Absent: rows are not numbered. */
  keyOf?(page: Page, index: number): string
}

export interface PageContext<Page extends RowPage<unknown>> {
  readonly source: RowSource<Page>
  readonly list: List
  readonly query: RowsQuery
  readonly digest: Fingerprint
  /** The row that the list begins at; null: the newest one. */
  readonly first: First | null
}

/**
 * The page as it is appended to the list.
 * @throws RowsMoved where a numbered page does not continue the page before it.
 * @throws UpstreamError `malformed` for a row without id or time, and for pages in a cycle.
 */
export function takePage<Page extends RowPage<unknown>>(
  context: PageContext<Page>,
  cursor: Cursor,
  page: Page,
): SnapshotPage {
  const { source, list, digest } = context
  const { overlap } = source.reader
  const { next, ahead, total, ownRows, length } = page
  if (next !== null && (next === cursor || list.hasCursor(next))) {
    const detail = 'the pages form a cycle'
    throw new UpstreamError(source.provider, { kind: 'malformed', detail })
  }
  const before = list.pages.at(-1)
  const repeated = before === undefined ? 0 : overlap
  const received = Math.max(0, length - repeated)
  const [top, bottom] =
    overlap === 0 ? [null, null] : [0, length - 1].map((at) => printOf(page, at, digest))
  if (repeated > 0 && (total !== before?.total || !isSamePrint(top ?? null, before.bottom))) {
    throw new RowsMoved('a page does not begin with the last row of the page before it')
  }
  if (overlap > 0 && next === null && total !== null && list.sums.received + received < total) {
    throw new RowsMoved('the pages have fewer rows than their total')
  }
  const facts = { name: randomUUID(), cursor, next, ahead, total, received, ownRows }
  return {
    ...facts,
    top: top ?? null,
    bottom: bottom ?? null,
    ...listRows(context, page, repeated),
  }
}

export function printOf(page: RowPage<unknown>, index: number, digest: Fingerprint): Print | null {
  const head = index < 0 || index >= page.length ? null : page.head(index)
  return head === null ? null : digest(head.id)
}

/** A row that the provider sends twice within one read counts once, where it comes first. */
function listRows<Page extends RowPage<unknown>>(
  { source: { keyOf }, list, query, digest, first }: PageContext<Page>,
  page: Page,
  repeated: number,
): Pick<SnapshotPage, 'isBegun' | 'rows' | 'times' | 'prints' | 'fills'> {
  const { from, to } = query.window
  const [rows, times, prints, fills]: [number[], number[], number[], number[]] = [[], [], [], []]
  const here = new Set<number>()
  let isBegun = list.pages.at(-1)?.isBegun ?? first === null
  for (let index = repeated; index < page.length; index += 1) {
    const head = page.head(index)
    if (head === null) continue
    if ((from !== null && head.time < from) || (to !== null && head.time > to)) continue
    const print = digest(head.id)
    // Rows above the first one arrived after the generation began.
    isBegun ||= first !== null && first !== 'none' && isSamePrint(first, print)
    const number = toNumber(print)
    if (!isBegun || here.has(number) || list.hasSeen(print)) continue
    here.add(number)
    rows.push(index)
    times.push(head.time)
    prints.push(print.first, print.second)
    if (keyOf !== undefined) fills.push(toNumber(digest(`fill ${keyOf(page, index)}`)))
  }
  return {
    isBegun,
    rows: Uint32Array.from(rows),
    times: Float64Array.from(times),
    prints: Uint32Array.from(prints),
    fills: Float64Array.from(fills),
  }
}

/**
 * What one query has read: for each list of rows its pages, in the provider's order. A page is appended once
 * and never changed. Everything else here is derived from the pages: which rows there are, and, where several
 * lists are shown as one, their order (reading R16). Nothing here reads or waits.
 */
import { addPrints, makeFingerprint, type Print } from '#kernel/fingerprint.ts'
import type { DataAge, PageCursor, TimeWindow } from '#providers/port.ts'

export type Cursor = PageCursor | null

/** One page, without its body. The arrays have one entry for each row that the query matches, in order. */
export interface SnapshotPage {
  /** Names the body. */
  readonly name: string
  /** What the page was read with, and what leads to the pages after it. */
  readonly cursor: Cursor
  readonly next: Cursor
  readonly ahead: readonly PageCursor[]
  readonly total: number | null
  /** Up to the end of this page: rows of any kind, those that pages repeat once, and the connection's. */
  readonly received: number
  readonly ownRows: number
  /** The last row of any kind; null where pages are not numbered. */
  readonly bottom: Print | null
  /** Null: it was read for this query. */
  readonly age: DataAge | null
  /** The place of each row on the page. */
  readonly places: Uint32Array
  readonly times: Float64Array
  readonly prints: Float64Array
  /** What identical fills have in common (reading R24a); empty where rows are not numbered. */
  readonly fills: Float64Array
}

/** The first row of a list; one of another time has moved behind others. `none`: the list had no row. */
export type First = { readonly print: Print; readonly time: number } | 'none'

/** What is fixed when a snapshot begins. Those of one generation count the same rows. */
export interface SnapshotFacts {
  readonly generation: string
  /** The user's epoch, and the time, at which the generation began. */
  readonly generationEpoch: number
  readonly generationAt: number
  /** The seed of the fingerprints. */
  readonly seed: number
  /** A bound that is "now" does not move. */
  readonly window: TimeWindow
  /** By list; null: the snapshot begins at the provider's newest row. */
  readonly firsts: readonly First[] | null
}

export interface List {
  readonly index: number
  readonly pages: SnapshotPage[]
  readonly rows: Row[]
  readonly seen: Set<Print>
  /** How many of each identical fill there are. */
  readonly fills: Map<number, number>
  /** Its rows that have a place in the order of all lists. */
  placed: number
  /** So many of its last pages have no row of the connection, and are not confirmed yet (reading R20b). */
  doubtful: number
}

export interface Row {
  readonly list: List
  readonly page: SnapshotPage
  /** Its index in the arrays of its page. */
  readonly entry: number
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  readonly copy: number
}

export type Snapshot = ReturnType<typeof makeSnapshot>

export const isEnded = ({ pages }: List): boolean => pages.at(-1)?.next === null
/** Its next row is not known: it must be read further before the order can go on. */
export const isWaiting = (list: List): boolean => !isEnded(list) && list.placed === list.rows.length

const timeOf = ({ page, entry }: Row): number => page.times[entry] ?? 0
const printOf = ({ page, entry }: Row): Print => page.prints[entry] ?? 0

const makeList = (index: number): List => {
  return { index, pages: [], rows: [], seen: new Set(), fills: new Map(), placed: 0, doubtful: 0 }
}

/** Lists are merged by time, newest first, each in its own order; equal times by the order of the lists. */
export function makeSnapshot(facts: SnapshotFacts, read: readonly (readonly SnapshotPage[])[]) {
  const lists = read.map((_pages, index) => makeList(index))
  const order: Row[] = []
  /** The fingerprint of the set of rows before each position. */
  const sums: Print[] = [0]

  function append(list: List, page: SnapshotPage): void {
    for (const [entry, print] of page.prints.entries()) {
      // A row that the provider sends twice counts once, where it comes first.
      if (list.seen.has(print)) continue
      list.seen.add(print)
      const fill = page.fills[entry]
      const copy = fill === undefined ? 1 : (list.fills.get(fill) ?? 0) + 1
      if (fill !== undefined) list.fills.set(fill, copy)
      list.rows.push({ list, page, entry, copy })
    }
    list.doubtful = page.ownRows > (list.pages.at(-1)?.ownRows ?? 0) ? 0 : list.doubtful + 1
    list.pages.push(page)
    // The order is certain while every list that has not ended has a row to compare.
    for (;;) {
      let newest: Row | undefined
      for (const list of lists) {
        const row = list.rows[list.placed]
        if (row === undefined && !isEnded(list)) return
        if (row !== undefined && (newest === undefined || timeOf(row) > timeOf(newest)))
          newest = row
      }
      if (newest === undefined) return
      newest.list.placed += 1
      order.push(newest)
      sums.push(addPrints(sums.at(-1) ?? 0, printOf(newest)))
    }
  }
  for (const list of lists) for (const page of read[list.index] ?? []) append(list, page)
  for (const list of lists) list.doubtful = 0

  return {
    facts,
    digest: makeFingerprint(facts.seed),
    lists: lists as readonly List[],
    /** Rows whose place in the order is certain. */
    order: order as readonly Row[],
    sums: sums as readonly Print[],
    append,
    listPages: () => lists.map(({ pages }) => pages),
    /** All pages but those in doubt, of the lists whose doubts count. */
    listTrusted: (counts: (list: List) => boolean = () => true) =>
      lists.map((list) =>
        counts(list) ? list.pages.slice(0, list.pages.length - list.doubtful) : list.pages,
      ),
    /** True when the provider has no more rows. */
    isComplete: () => lists.every(isEnded),
  }
}

/** Where a later snapshot of the generation begins. Once a row has a place, a list without any has ended. */
export const listFirsts = ({ lists }: Snapshot): readonly First[] =>
  lists.map(({ rows: [row] }) =>
    row === undefined ? 'none' : { print: printOf(row), time: timeOf(row) },
  )

/**
 * What one query has read: for each list of rows its pages, in the provider's order. A page is appended once and never
 * changed. Everything else here is derived from the pages: how many rows there are, and, where several lists are shown
 * as one, their order (reading R16). Nothing here reads or waits.
 */
import type { PageCursor, TimeWindow } from '#providers/port.ts'
import { type Print, toNumber } from './fingerprint.ts'

export type Cursor = PageCursor | null

/** One page, without its body. The arrays have one entry for each row that the query shows, in order. */
export interface SnapshotPage {
  /** Names the body. */
  readonly name: string
  /** What the page was read with, and what leads to the pages after it. */
  readonly cursor: Cursor
  readonly next: Cursor
  readonly ahead: readonly PageCursor[]
  readonly total: number | null
  /** Rows of any kind that no page before had, and rows of the connection among all. */
  readonly received: number
  readonly ownRows: number
  /** The first and the last row of any kind; null where pages are not numbered. */
  readonly top: Print | null
  readonly bottom: Print | null
  /** False while the row that the snapshot begins at was not met (`SnapshotFacts.firsts`). */
  readonly isBegun: boolean
  /** The place of each row on the page. */
  readonly rows: Uint32Array
  readonly times: Float64Array
  /** Two numbers for each row. */
  readonly prints: Uint32Array
  /** What identical fills have in common (reading R24a); empty where rows are not numbered. */
  readonly fills: Float64Array
}

/** The first row that a list begins at; one of another time has moved behind others. `none`: the list had no row. */
export type First = (Print & { readonly time: number }) | 'none'

/** Snapshots of one generation count the same rows: each offset means the same row in all of them. */
export interface Generation {
  readonly generation: string
  /** The user's epoch, and the time, at which the generation began. */
  readonly generationEpoch: number
  readonly generationAt: number
  readonly seed: Print
  /** A bound that is "now" does not move. */
  readonly window: TimeWindow
}

/** What is fixed when a snapshot begins. */
export interface SnapshotFacts extends Generation {
  /** By list; null: the snapshot begins at the provider's newest row. */
  readonly firsts: readonly First[] | null
}

export type List = ReturnType<typeof makeList>
export type Snapshot = ReturnType<typeof makeSnapshot>

export const isEnded = ({ pages }: List): boolean => pages.at(-1)?.next === null

/** The pages of one list, and what is derived from them. */
export function makeList() {
  const pages: SnapshotPage[] = []
  /** The number of the first row of each page. */
  const starts: number[] = []
  const [seen, cursors, fills] = [new Set<number>(), new Set<Cursor>(), new Map<number, number>()]
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  const copies: number[] = []
  const sums = { count: 0, ownRows: 0, received: 0 }
  return {
    pages: pages as readonly SnapshotPage[],
    sums: sums as Readonly<typeof sums>,
    hasSeen: (print: Print) => seen.has(toNumber(print)),
    hasCursor: (cursor: Cursor) => cursors.has(cursor),
    append(page: SnapshotPage) {
      for (let entry = 0; entry < page.rows.length; entry += 1)
        seen.add(toNumber(printAt(page, entry)))
      for (const fill of page.fills) {
        copies.push((fills.get(fill) ?? 0) + 1)
        fills.set(fill, copies.at(-1) ?? 1)
      }
      starts.push(sums.count)
      pages.push(page)
      cursors.add(page.cursor)
      sums.count += page.rows.length
      sums.ownRows += page.ownRows
      sums.received += page.received
    },
    /** The page of a row, the row's entry in the page's arrays, and its number among identical fills. */
    locate(row: number) {
      // The last page that begins at or before the row; pages without rows begin where the next one does.
      let [low, high] = [0, pages.length - 1]
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        if ((starts[middle] ?? 0) <= row) low = middle
        else high = middle - 1
      }
      const page = pages[low]
      if (page === undefined || row >= sums.count) throw new RangeError(`there is no row ${row}`)
      return { page, entry: row - (starts[low] ?? 0), copy: copies[row] ?? 1 }
    },
  }
}

export const printAt = ({ prints }: SnapshotPage, entry: number): Print => ({
  first: prints[entry * 2] ?? 0,
  second: prints[entry * 2 + 1] ?? 0,
})

const nothing: Print = { first: 0, second: 0 }
/** A list and a row in one number, because plain numbers need no garbage collection. */
const rowsPerList = 2 ** 32

/** Starts empty. Lists are merged by time, newest first, each in its own order; equal times by the order of the lists. */
export function makeSnapshot(facts: SnapshotFacts, listCount: number) {
  const lists = Array.from({ length: listCount }, makeList)
  const merged: number[] = []
  const used = lists.map(() => 0)
  /** Sums of the fingerprints of all rows before a position, two numbers for each. */
  const sums = [0, 0]

  /** Merges as far as the order is certain: while every list that has not ended has a row to compare. */
  function extend(): void {
    for (;;) {
      let [newest, newestTime, newestPrint] = [-1, Number.NEGATIVE_INFINITY, nothing]
      for (const [index, list] of lists.entries()) {
        const row = used[index] ?? 0
        if (row >= list.sums.count) {
          if (isEnded(list)) continue
          return
        }
        const { page, entry } = list.locate(row)
        const time = page.times[entry] ?? 0
        if (time <= newestTime) continue
        ;[newest, newestTime, newestPrint] = [index, time, printAt(page, entry)]
      }
      if (newest === -1) return
      const row = used[newest] ?? 0
      merged.push(newest * rowsPerList + row)
      used[newest] = row + 1
      const [first = 0, second = 0] = sums.slice(-2)
      sums.push((first + newestPrint.first) >>> 0, (second + newestPrint.second) >>> 0)
    }
  }

  function locate(position: number) {
    const place = merged[position] ?? Number.NaN
    const list = lists[Math.floor(place / rowsPerList)]
    if (list === undefined) throw new RangeError(`there is no row ${position}`)
    return { list: Math.floor(place / rowsPerList), ...list.locate(place % rowsPerList) }
  }

  return {
    facts,
    lists: lists as readonly List[],
    getList(index: number): List {
      const list = lists[index]
      if (list === undefined) throw new RangeError(`there is no list ${index}`)
      return list
    },
    /** Rows whose place in the order is certain. */
    count() {
      extend()
      return merged.length
    },
    /** True when the provider has no more rows. */
    isComplete: () => lists.every(isEnded),
    /** Lists that must be read further before the order can go on. */
    listWaiting: () =>
      [...lists.entries()].flatMap(([index, list]) =>
        !isEnded(list) && (used[index] ?? 0) >= list.sums.count ? [index] : [],
      ),
    /** The row at a position below `count`. */
    locate,
    /** The fingerprint of the set of rows before a position. */
    printBefore: (position: number): Print => ({
      first: sums[position * 2] ?? 0,
      second: sums[position * 2 + 1] ?? 0,
    }),
  }
}

/** Where a later snapshot of the same generation begins. Once rows are counted, a list without any has ended. */
export const listFirsts = ({ lists }: Snapshot): readonly First[] =>
  lists.map((list) => {
    if (list.sums.count === 0) return 'none'
    const { page, entry } = list.locate(0)
    return { ...printAt(page, entry), time: page.times[entry] ?? 0 }
  })

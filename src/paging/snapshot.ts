/**
 * What one query has read: for each list of rows its pages, in the provider's order. A page is appended once
 * and never changed. Everything else here is derived from the pages: how many rows there are, and, where
 * several lists are shown as one, their order (reading R16). Nothing here reads or waits.
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
  /** The place of each row on the page. */
  readonly rows: Uint32Array
  readonly times: Float64Array
  /** Two numbers for each row. */
  readonly prints: Uint32Array
  /** What identical fills have in common (reading R24a); empty where rows are not numbered. */
  readonly fills: Float64Array
}

/**
 * The first row that a list begins at; one of another time has moved behind others. `none`: the list had no
 * row.
 */
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
export function makeList(read: readonly SnapshotPage[]) {
  const pages: SnapshotPage[] = []
  /** The number of the first row of each page, and the number of each row's page. */
  const [starts, pageOf]: [number[], number[]] = [[], []]
  const [seen, fills] = [new Set<number>(), new Map<number, number>()]
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  const copies: number[] = []
  const sums = { count: 0, ownRows: 0, received: 0 }

  function append(page: SnapshotPage): void {
    for (let entry = 0; entry < page.rows.length; entry += 1) {
      seen.add(toNumber(printAt(page, entry)))
      pageOf.push(pages.length)
    }
    for (const fill of page.fills) {
      copies.push((fills.get(fill) ?? 0) + 1)
      fills.set(fill, copies.at(-1) ?? 1)
    }
    starts.push(sums.count)
    pages.push(page)
    sums.count += page.rows.length
    sums.ownRows += page.ownRows
    sums.received += page.received
  }
  read.forEach(append)

  return {
    pages: pages as readonly SnapshotPage[],
    sums: sums as Readonly<typeof sums>,
    append,
    hasSeen: (print: Print) => seen.has(toNumber(print)),
    hasCursor: (cursor: Cursor) => pages.some((page) => page.cursor === cursor),
    /** The page of a row, the row's entry in the page's arrays, and its number among identical fills. */
    locate(row: number) {
      const number = pageOf[row] ?? -1
      const page = pages[number]
      if (page === undefined) throw new RangeError(`there is no row ${row}`)
      return { page, entry: row - (starts[number] ?? 0), copy: copies[row] ?? 1 }
    },
  }
}

export const printAt = ({ prints }: SnapshotPage, entry: number): Print => ({
  first: prints[entry * 2] ?? 0,
  second: prints[entry * 2 + 1] ?? 0,
})

const nothing: Print = { first: 0, second: 0 }

/** Lists are merged by time, newest first, each in its own order; equal times by the order of the lists. */
export function makeSnapshot(facts: SnapshotFacts, read: readonly (readonly SnapshotPage[])[]) {
  const lists = read.map(makeList)
  /** By position: the list, and the row in it. */
  const [listOf, rowOf]: [number[], number[]] = [[], []]
  const used = lists.map(() => 0)
  /** Sums of the fingerprints of all rows before a position, two numbers for each. */
  const sums = [0, 0]

  /** Merges as far as the order is certain: while every list that has not ended has a row to compare. */
  function extend(): void {
    for (;;) {
      let [newest, newestTime, print] = [-1, Number.NEGATIVE_INFINITY, nothing]
      for (const [index, list] of lists.entries()) {
        const row = used[index] ?? 0
        if (row >= list.sums.count) {
          if (isEnded(list)) continue
          return
        }
        const { page, entry } = list.locate(row)
        const time = page.times[entry] ?? 0
        if (time <= newestTime) continue
        ;[newest, newestTime, print] = [index, time, printAt(page, entry)]
      }
      if (newest === -1) return
      const row = used[newest] ?? 0
      listOf.push(newest)
      rowOf.push(row)
      used[newest] = row + 1
      const [first = 0, second = 0] = sums.slice(-2)
      sums.push((first + print.first) >>> 0, (second + print.second) >>> 0)
    }
  }

  function getList(index: number): List {
    const list = lists[index]
    if (list === undefined) throw new RangeError(`there is no list ${index}`)
    return list
  }

  return {
    facts,
    lists: lists as readonly List[],
    getList,
    /** Rows whose place in the order is certain. */
    count() {
      extend()
      return rowOf.length
    },
    /** True when the provider has no more rows. */
    isComplete: () => lists.every(isEnded),
    /** Lists that must be read further before the order can go on. */
    listWaiting: () =>
      [...lists.entries()].flatMap(([index, list]) =>
        !isEnded(list) && (used[index] ?? 0) >= list.sums.count ? [index] : [],
      ),
    /** The row at a position below `count`. */
    locate(position: number) {
      const list = listOf[position] ?? -1
      return { list, ...getList(list).locate(rowOf[position] ?? -1) }
    },
    /** The fingerprint of the set of rows before a position. */
    printBefore: (position: number): Print => ({
      first: sums[position * 2] ?? 0,
      second: sums[position * 2 + 1] ?? 0,
    }),
  }
}

/**
 * Where a later snapshot of the same generation begins. Once rows are counted, a list without any has ended.
 */
export const listFirsts = ({ lists }: Snapshot): readonly First[] =>
  lists.map((list) => {
    if (list.sums.count === 0) return 'none'
    const { page, entry } = list.locate(0)
    return { ...printAt(page, entry), time: page.times[entry] ?? 0 }
  })

/**
 * Finds rows by a fingerprint that they have: a hash table with open addressing over columns of fingerprints.
 * Fingerprints are random, so a part of each is its hash already. Columns of plain numbers and a table of row
 * numbers take no object for a row: with one for each, and fingerprints as text, a comparison took twice as
 * long, also in the garbage collector.
 */

/** A fingerprint of 64 bits: its first and its last 32, each as a signed integer. */
export interface SplitFingerprint {
  readonly high: number
  readonly low: number
}

/** The fingerprints of rows, by their numbers. */
export interface PrintColumn {
  readonly high: number[]
  readonly low: number[]
}

export interface PrintTable {
  /** The number of the row with this fingerprint; `noRow`: there is none. */
  find(print: SplitFingerprint): number
  /** A row whose fingerprint changed is added again, and is not found by the former one any more. */
  add(row: number): void
}

export const noRow = -1

/** Replaces the fingerprint of a row, or adds that of the next one. */
export function setPrint(column: PrintColumn, row: number, { high, low }: SplitFingerprint): void {
  column.high[row] = high
  column.low[row] = low
}

/** Of the table at least half is free. */
const smallestSize = 64

/** Makes a table without rows. @param rows how many are expected. */
export function makePrintTable({ high, low }: PrintColumn, rows: number): PrintTable {
  // Row numbers plus one; 0: free.
  let slots = new Int32Array(sizeFor(rows))
  let used = 0

  /** The place of the row with this fingerprint, or the free one where it belongs. */
  function placeOf(first: number, last: number): number {
    const mask = slots.length - 1
    for (let place = first & mask; ; place = (place + 1) & mask) {
      const row = (slots[place] ?? 0) - 1
      if (row === noRow || (high[row] === first && low[row] === last)) return place
    }
  }

  function grow(): void {
    const former = slots
    slots = new Int32Array(former.length * 2)
    used = 0
    for (const slot of former) if (slot !== 0) put(slot - 1)
  }

  function put(row: number): void {
    const place = placeOf(high[row] ?? 0, low[row] ?? 0)
    if (slots[place] === 0) used += 1
    slots[place] = row + 1
  }

  return {
    find: (print) => (slots[placeOf(print.high, print.low)] ?? 0) - 1,
    add(row) {
      if (used * 2 >= slots.length) grow()
      put(row)
    },
  }
}

/** The least power of two that is large enough. */
function sizeFor(rows: number): number {
  let size = smallestSize
  while (size < rows * 2) size *= 2
  return size
}

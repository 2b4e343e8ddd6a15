/**
 * Numbers identical fills in the provider's order (reading R24a). The key of a fill is made from eight mapped fields,
 * so it is computed only when two rows have the same time; rows with different times cannot be identical. Computed
 * keys are stored in the table, so that numbering can continue after the pages are evicted.
 */
import type { RowTable } from './row-table.ts'

export interface Copies {
  /** Numbers the latest row of the table: 1 for the first with its key, 2, 3 … for later ones. */
  number(row: number): void
}

type Moment = number | Map<number, number>

/**
 * Continues after the rows of the table.
 * @param keyAt a digest of the key of a row, never 0; equal keys have equal times. Null when the key is unavailable.
 */
export function makeCopies(table: RowTable, keyAt: (row: number) => number | null): Copies {
  const { keys, copies } = table
  if (keys === null || copies === null) throw new Error('the table has no room for copies')
  /** By time: the only row so far, or how often each key occurred. */
  const moments = new Map<number, Moment>()
  for (let row = 0; row < table.count; row += 1) {
    const time = table.times[row] ?? 0
    const key = keys[row] ?? 0
    if (key === 0) moments.set(time, row)
    else count(countsAt(moments, time), key, copies[row] ?? 1)
  }

  function readKey(row: number): number | null {
    const known = table.keys?.[row] ?? 0
    if (known !== 0) return known
    const key = keyAt(row)
    if (key !== null && table.keys !== null) table.keys[row] = key
    return key
  }

  return {
    number(row) {
      const time = table.times[row] ?? 0
      const known = moments.get(time)
      if (known === undefined) {
        moments.set(time, row)
        return
      }
      const counts = typeof known === 'number' ? new Map<number, number>() : known
      if (typeof known === 'number') {
        const key = readKey(known)
        if (key !== null) counts.set(key, 1)
        moments.set(time, counts)
      }
      const key = readKey(row)
      if (key === null || table.copies === null) return
      const number = (counts.get(key) ?? 0) + 1
      counts.set(key, number)
      table.copies[row] = number
    },
  }
}

function countsAt(moments: Map<number, Moment>, time: number): Map<number, number> {
  const known = moments.get(time)
  if (typeof known === 'object') return known
  const counts = new Map<number, number>()
  moments.set(time, counts)
  return counts
}

function count(counts: Map<number, number>, key: number, copy: number): void {
  counts.set(key, Math.max(copy, counts.get(key) ?? 0))
}

/** What a walk remembers of a row, read without building its texts where the page allows it. */
import type { RowGlance, RowPage } from '#providers/port.ts'
import type { Fingerprint, Print } from './fingerprint.ts'

/** Reused for all rows: thousands of small objects would cost more than their content. */
export interface RowMark extends Print, RowGlance {}

export const emptyMark = (): RowMark => ({ first: 0, second: 0, time: 0, idFrom: 0, idTo: 0 })

/** Reads the time of a row and the fingerprint of its id into `mark`; false for a row that is not wanted. */
export function readMark(
  page: RowPage<unknown>,
  index: number,
  fingerprint: Fingerprint,
  mark: RowMark,
): boolean {
  const isWanted = page.glance?.(index, mark)
  if (isWanted !== undefined) {
    if (isWanted) fingerprint.ofAscii(page.body, mark.idFrom, mark.idTo, mark)
    return isWanted
  }
  const head = page.head(index)
  if (head === null) return false
  mark.time = head.time
  fingerprint.ofText(head.id, mark)
  return true
}

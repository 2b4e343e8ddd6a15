/**
 * Where a provider gives one id to several rows of a page, the first of them is shown. That is right for a
 * row that is sent twice; rows that differ are reported, so that none is left out in silence (reading R23).
 */
import { isDeepStrictEqual } from 'node:util'
import { readField } from '#kernel/json.ts'

/** @param key the field of a row that is its id. */
export function noteRepeatedIds(
  rows: readonly unknown[],
  key: string,
  note: (what: string) => void,
): void {
  const firsts = new Map<unknown, unknown>()
  for (const row of rows) {
    const id = readField(row, key)
    const first = firsts.get(id)
    if (first === undefined) firsts.set(id, row)
    else if (!isDeepStrictEqual(first, row)) {
      note('two rows have one id')
      return
    }
  }
}

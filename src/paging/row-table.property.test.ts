/** A row is found exactly when its id was added, for any ids, and keeps its place. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { emptyPrint, makeFingerprint, makeFingerprintKey } from './fingerprint.ts'
import { addRow, copyRows, findRow, makeRowTable, truncateRows } from './row-table.ts'

const ids = fc.array(
  fc.string({ maxLength: 5, unit: fc.constantFrom('a', 'b', '-', 'é', 'Ā', '\0') }),
  {
    maxLength: 300,
  },
)

/** Adds each new id; returns the table and the distinct ids in order. */
function fill(list: readonly string[]) {
  const fingerprint = makeFingerprint(makeFingerprintKey())
  const table = makeRowTable(false)
  const print = emptyPrint()
  const known = new Map<string, number>()
  for (const [row, id] of list.entries()) {
    fingerprint.ofText(id, print)
    assert.equal(findRow(table, print), known.get(id) ?? -1, `row ${row}`)
    if (known.has(id)) continue
    known.set(id, addRow(table, print, row, { page: 0, row }))
  }
  return { table, known, fingerprint, print }
}

test('any ids: a row is known exactly when its id was met before', () => {
  fc.assert(fc.property(ids, (list) => void fill(list)))
})

test('removed rows are no longer known, and a copy knows exactly the copied rows', () => {
  fc.assert(
    fc.property(ids, fc.nat(300), (list, cut) => {
      const { table, known, fingerprint, print } = fill(list)
      const count = Math.min(cut, table.count)
      const copy = copyRows(table, count)
      truncateRows(table, count)
      for (const [id, row] of known) {
        fingerprint.ofText(id, print)
        const expected = row < count ? row : -1
        assert.deepEqual([findRow(table, print), findRow(copy, print)], [expected, expected])
      }
    }),
  )
})

test('fingerprints spread: of a hundred thousand ids that differ in a few digits no two are alike', () => {
  const list = Array.from({ length: 100_000 }, (_, row) => `txn_00000000-${row}`)
  assert.equal(fill(list).table.count, list.length)
})

/** Copies are numbered as if every key were computed, although most keys are not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeCopies } from './copies.ts'
import { addRow, makeRowTable, type RowTable } from './row-table.ts'

function begin(keyAt: (row: number) => number) {
  const table = makeRowTable(true)
  return { table, copies: makeCopies(table, keyAt) }
}

const add = (table: RowTable, row: number, time: number) =>
  addRow(table, { first: row, second: 0 }, time, { page: 0, row })

const rows = fc.array(
  fc.record({ time: fc.integer({ min: 0, max: 8 }), what: fc.constantFrom('x', 'y') }),
  { maxLength: 60 },
)

test('R24a: any rows are numbered as a count of their keys would number them', () => {
  fc.assert(
    fc.property(rows, (list) => {
      const keyAt = (row: number) => `${list[row]?.time}-${list[row]?.what}`
      const { table, copies } = begin((row) => (list[row]?.what === 'x' ? 1 : 2))
      const counts = new Map<string, number>()
      for (const [place, { time }] of list.entries()) {
        const expected = (counts.get(keyAt(place)) ?? 0) + 1
        counts.set(keyAt(place), expected)
        add(table, place, time)
        copies.number(place)
        assert.equal(table.copies?.[place], expected)
      }
    }),
  )
})

test('a key is built only where two rows share a moment', () => {
  const asked: number[] = []
  const { table, copies } = begin((row) => {
    asked.push(row)
    return row + 1
  })
  for (const [row, time] of [5, 4, 4, 3].entries()) {
    add(table, row, time)
    copies.number(row)
  }
  assert.deepEqual(asked, [1, 2])
})

test('R24a: numbering continues from the table, whether keys were computed or not', () => {
  fc.assert(
    fc.property(rows, fc.nat(), (list, cut) => {
      const keyAt = (row: number) => (list[row]?.what === 'x' ? 1 : 2)
      const whole = begin(keyAt)
      const { table } = whole
      const later = cut % (list.length + 1)
      let copies = whole.copies
      for (const [row, { time }] of list.entries()) {
        if (row === later) copies = makeCopies(table, keyAt)
        add(table, row, time)
        copies.number(row)
      }
      const once = begin(keyAt)
      for (const [row, { time }] of list.entries()) {
        add(once.table, row, time)
        once.copies.number(row)
      }
      assert.deepEqual(table.copies, once.table.copies)
    }),
  )
})

/** The table of fingerprints, compared with a map. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  makePrintTable,
  noRow,
  type PrintColumn,
  type SplitFingerprint,
  setPrint,
} from './print-table.ts'

/** Few different ones, so that places and fingerprints collide. */
const print = fc.record({ high: fc.integer({ min: -2, max: 3 }), low: fc.integer({ max: 4 }) })
const step = fc.record({ print, renamed: fc.option(print) })
const nameOf = ({ high, low }: SplitFingerprint): string => `${high} ${low}`

test('a row is found by the fingerprint that it has, and by none that it had', () => {
  fc.assert(
    fc.property(
      fc.array(print, { maxLength: 90 }),
      fc.array(step, { maxLength: 90 }),
      fc.nat({ max: 200 }),
      (first, steps, expected) => {
        const model = new Map<string, number>()
        const column: PrintColumn = { high: [], low: [] }
        const table = makePrintTable(column, expected)
        const keep = (row: number, one: SplitFingerprint) => {
          model.set(nameOf(one), row)
          setPrint(column, row, one)
          table.add(row)
        }
        for (const one of first) if (!model.has(nameOf(one))) keep(column.high.length, one)
        for (const { print: asked, renamed } of steps) {
          assert.equal(table.find(asked), model.get(nameOf(asked)) ?? noRow)
          const row = model.get(nameOf(asked)) ?? column.high.length
          const next = renamed === null || model.has(nameOf(renamed)) ? asked : renamed
          model.delete(nameOf(asked))
          keep(row, next)
        }
        for (const one of [...first, ...steps.map((each) => each.print)]) {
          assert.equal(table.find(one), model.get(nameOf(one)) ?? noRow)
        }
      },
    ),
  )
})

test('thousands of rows are all found, and nothing else is', () => {
  const printOf = (number: number) => ({ high: Math.imul(number, 2_654_435_761), low: number >> 8 })
  const column: PrintColumn = { high: [], low: [] }
  const table = makePrintTable(column, 0)
  for (let row = 0; row < 5000; row += 1) {
    setPrint(column, row, printOf(row))
    table.add(row)
  }
  for (let row = 0; row < 5000; row += 1) assert.equal(table.find(printOf(row)), row)
  for (let number = 5000; number < 6000; number += 1) {
    assert.equal(table.find(printOf(number)), noRow)
  }
})

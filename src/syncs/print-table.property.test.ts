/** The table of fingerprints, compared with a map. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makePrintTable } from './print-table.ts'

interface Entry {
  print: string
}

/** Few different ones, so that places and fingerprints collide. */
const print = fc
  .uint8Array({ minLength: 3, maxLength: 4, max: 3 })
  .map((bytes) => Buffer.from(bytes).toString('latin1').padEnd(8, 'x'))
const step = fc.record({ print, renamed: fc.option(print) })

test('an entry is found by the fingerprint that it has, and by none that it had', () => {
  fc.assert(
    fc.property(
      fc.array(print, { maxLength: 90 }),
      fc.array(step, { maxLength: 90 }),
      (first, steps) => {
        const model = new Map<string, Entry>()
        const entries = [...new Set(first)].map((one) => ({ print: one }))
        for (const entry of entries) model.set(entry.print, entry)
        const table = makePrintTable(entries, (entry: Entry) => entry.print)
        for (const { print: asked, renamed } of steps) {
          assert.equal(table.find(asked), model.get(asked))
          const entry = model.get(asked) ?? { print: asked }
          const next = renamed === null || model.has(renamed) ? asked : renamed
          model.delete(asked)
          entry.print = next
          model.set(next, entry)
          table.add(entry)
        }
        for (const [one, entry] of model) assert.equal(table.find(one), entry)
        for (const one of [...first, ...steps.map((each) => each.print)]) {
          assert.equal(table.find(one), model.get(one))
        }
      },
    ),
  )
})

test('thousands of entries are all found, and nothing else is', () => {
  const printOf = (number: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeUInt32LE(Math.imul(number, 2_654_435_761) >>> 0)
    return bytes.toString('latin1')
  }
  const entries = Array.from({ length: 5000 }, (_, number) => ({ print: printOf(number) }))
  const table = makePrintTable(entries, (entry) => entry.print)
  for (const entry of entries) assert.equal(table.find(entry.print), entry)
  for (let number = 5000; number < 6000; number += 1) {
    assert.equal(table.find(printOf(number)), undefined)
  }
})

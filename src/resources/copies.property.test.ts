/** Copies are numbered as if every key were asked for, although most never are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeCopies } from './copies.ts'

const rows = fc.array(
  fc.record({ time: fc.integer({ min: 0, max: 8 }), what: fc.constantFrom('x', 'y') }),
  { maxLength: 60 },
)

test('R24a: any rows are numbered as a count of their keys would number them', () => {
  fc.assert(
    fc.property(rows, (list) => {
      const keyAt = (place: number) => `${list[place]?.time}-${list[place]?.what}`
      const copies = makeCopies(keyAt)
      const counts = new Map<string, number>()
      for (const [place, { time }] of list.entries()) {
        const expected = (counts.get(keyAt(place)) ?? 0) + 1
        counts.set(keyAt(place), expected)
        assert.equal(copies.number(time, place), expected)
      }
    }),
  )
})

test('a key is built only where two rows share a moment', () => {
  const asked: number[] = []
  const copies = makeCopies((place) => {
    asked.push(place)
    return String(place)
  })
  for (const [place, time] of [5, 4, 4, 3].entries()) copies.number(time, place)
  assert.deepEqual(asked, [1, 2])
})

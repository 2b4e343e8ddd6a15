/** A row is new exactly when its id is: whatever the ids, and however badly their fingerprints collide. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Fingerprint, makeSeenRows } from './seen-rows.ts'

/** What a plain set says of the same ids. */
function compare(ids: readonly string[], fingerprint?: Fingerprint): void {
  const rows = makeSeenRows((place) => ids[place] ?? '', fingerprint)
  const set = new Set<string>()
  for (const [place, id] of ids.entries()) {
    assert.equal(rows.add(id, place), !set.has(id), `row ${place}`)
    set.add(id)
  }
}

const ids = fc.array(fc.string({ maxLength: 5, unit: fc.constantFrom('a', 'b', '-', 'é', '1') }), {
  maxLength: 300,
})

test('any ids: a row is new exactly when its id was not met before', () => {
  fc.assert(fc.property(ids, (list) => compare(list)))
})

test('no row is lost to chance: fingerprints that are all equal decide nothing', () => {
  fc.assert(fc.property(ids, (list) => compare(list, () => undefined)))
})

test('twenty thousand ids that differ in one digit are all new, and none of them twice', () => {
  const list = Array.from({ length: 20_000 }, (_, row) => `txn_00000000-${row}`)
  compare([...list, ...list])
})

test('fingerprints spread: of a hundred thousand ids no two are alike', () => {
  let asked = 0
  const rows = makeSeenRows(() => {
    asked += 1
    return ''
  })
  for (let row = 0; row < 100_000; row += 1) rows.add(`txn-${row}`, row)
  assert.equal(asked, 0)
})

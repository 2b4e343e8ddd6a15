/** Months of days, there and back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstDayOf, monthOf } from './months.ts'

test('the months of days are numbered without a gap', () => {
  assert.equal(monthOf('2026-01-31') - monthOf('2025-12-01'), 1)
  assert.equal(monthOf('2026-11-20'), 2026 * 12 + 10)
  assert.equal(monthOf('2026-11-20T10:00:00Z'), monthOf('2026-11-01'))
})

test('the first day of a month is in that month', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9999 * 12 + 11 }), (month) => {
      const day = firstDayOf(month)
      assert.match(day, /^\d{4}-\d{2}-01$/)
      assert.equal(monthOf(day), month)
    }),
  )
})

test('what is no day has no month', () => {
  for (const text of ['', '2026', '2026-13-01', '2026-00-01', '20261120', '2026-1-1']) {
    assert.throws(() => monthOf(text), RangeError, text)
  }
})

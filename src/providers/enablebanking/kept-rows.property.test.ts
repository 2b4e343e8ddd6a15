/** The rows of a reading come back whole, each once and in order, whatever the pages are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseRows, readKeptPending, sliceKeptRows, writeKeptRows } from './kept-rows.ts'
import type { AnyRow } from './rows.ts'

const day = fc
  .integer({ min: 1, max: 28 })
  .map((number) => `2026-02-${String(number).padStart(2, '0')}`)
const row = fc.record({ day: fc.option(day, { freq: 8 }), problem: fc.string({ unit: 'binary' }) })

const byDay = (one: AnyRow, other: AnyRow) => {
  const [left, right] = [one.day ?? '9999-12-31', other.day ?? '9999-12-31']
  return left === right ? 0 : left > right ? -1 : 1
}

test('pages of whole days have every row once, in order, and at least as many as asked but the last', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (sent, least) => {
      const rows = sent.map((one) => ({ ...one })).toSorted(byDay)
      const pending = rows.slice(0, least - 1)
      const bytes = writeKeptRows({ rows, pending, count: sent.length + 3 })
      assert.deepEqual(readKeptPending(bytes), pending)
      const found: AnyRow[] = []
      let pages = 0
      for (let until: string | null = null; ; pages += 1) {
        const slice = sliceKeptRows(bytes, { until, isFirst: pages === 0 }, least)
        assert.equal(slice.count, sent.length + 3)
        const shown = parseRows(slice.rows)
        found.push(...shown)
        if (slice.until === null) break
        assert.ok(shown.length >= least)
        until = slice.until
        assert.ok(pages < 100)
      }
      assert.deepEqual(found, rows)
    }),
  )
})

test('a page that begins at a day without rows goes on with the next older one', () => {
  const rows = ['2026-02-20', '2026-02-10'].map((one) => ({ day: one, problem: 'x' }))
  const bytes = writeKeptRows({ rows, pending: [], count: 2 })
  function slice(before: string) {
    const { rows, until } = sliceKeptRows(bytes, { until: before, isFirst: false }, 1)
    return { days: parseRows(rows).map((one) => one.day), until }
  }
  assert.deepEqual(slice('2026-02-15'), { days: ['2026-02-10'], until: null })
  assert.deepEqual(slice('2026-02-10'), { days: [], until: null })
})

test('R23: the first page has the rows of an unknown day, wherever it begins', () => {
  const rows = [null, '2026-02-20', '2026-02-10'].map((one) => ({ day: one, problem: 'x' }))
  const bytes = writeKeptRows({ rows, pending: [], count: 3 })
  const daysOf = (isFirst: boolean) =>
    parseRows(sliceKeptRows(bytes, { until: '2026-02-15', isFirst }, 9).rows).map((one) => one.day)
  assert.equal(daysOf(true)[0], null)
  assert.deepEqual(daysOf(false), ['2026-02-10'])
})

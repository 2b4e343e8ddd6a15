/** The rows of a reading come back whole, each once and in order, whatever the pages are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import {
  findKeptCurrency,
  packRows,
  parseRows,
  readKeptPending,
  rowsPerBlock,
  sliceKeptRows,
} from './kept-rows.ts'
import { type AnyRow, keepRows } from './rows.ts'

const day = fc
  .integer({ min: 1, max: 28 })
  .map((number) => `2026-02-${String(number).padStart(2, '0')}`)
/** Days with a few rows, and days that are longer than a block. */
const ofDay = fc.record({
  day: fc.option(day, { freq: 8 }),
  rows: fc.integer({ min: 1, max: rowsPerBlock + 1 }),
  problem: fc.string({ unit: anyCharacter }),
})

const byDay = (one: AnyRow, other: AnyRow) => {
  const [left, right] = [one.day ?? '9999-12-31', other.day ?? '9999-12-31']
  return left === right ? 0 : left > right ? -1 : 1
}

test('pages of whole days have every row once, in order, and are full but for the last', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ofDay, { maxLength: 12 }), async (days) => {
      const rows = days
        .flatMap(({ day, problem, rows }) =>
          Array.from({ length: rows }, (_, at) => ({ day, problem: `${at} ${problem}` })),
        )
        .toSorted(byDay)
      const pending = rows.slice(0, days.length)
      const bytes = await packRows({ rows, pending, count: rows.length + 3 })
      assert.deepEqual(await readKeptPending(bytes), pending)
      const found: AnyRow[] = []
      let pages = 0
      for (let until: string | null = null; ; pages += 1) {
        const slice = await sliceKeptRows(bytes, { until, isFirst: pages === 0 })
        assert.equal(slice.count, rows.length + 3)
        const shown = parseRows(slice.rows)
        found.push(...shown)
        if (slice.until === null) break
        assert.ok(shown.length >= rowsPerBlock)
        until = slice.until
        assert.ok(pages < 100)
      }
      assert.deepEqual(found, rows)
    }),
    { numRuns: 30 },
  )
})

test('a page that begins in the middle of a block has the rest of it, and the next one follows', async () => {
  const days = ['2026-02-20', '2026-02-18', '2026-02-10']
  const rows = days.flatMap((one) =>
    Array.from({ length: rowsPerBlock / 2 }, (_, at) => ({ day: one, problem: `${at}` })),
  )
  const bytes = await packRows({ rows, pending: [], count: rows.length })
  const slice = await sliceKeptRows(bytes, { until: '2026-02-19', isFirst: false })
  assert.equal(slice.until, '2026-02-18')
  assert.deepEqual(parseRows(slice.rows), rows.slice(rowsPerBlock / 2, rowsPerBlock))
  const next = await sliceKeptRows(bytes, { until: slice.until, isFirst: false })
  assert.deepEqual(parseRows(next.rows), rows.slice(rowsPerBlock))
  assert.equal(next.until, null)
})

test('a page that begins at a day without rows goes on with the next older one', async () => {
  const rows = ['2026-02-20', '2026-02-10'].map((one) => ({ day: one, problem: 'x' }))
  const bytes = await packRows({ rows, pending: [], count: 2 })
  async function slice(before: string) {
    const { rows, until } = await sliceKeptRows(bytes, { until: before, isFirst: false })
    return { days: parseRows(rows).map((one) => one.day), until }
  }
  assert.deepEqual(await slice('2026-02-15'), { days: ['2026-02-10'], until: null })
  assert.deepEqual(await slice('2026-02-10'), { days: [], until: null })
})

test('R23: the first page has the rows of an unknown day, wherever it begins', async () => {
  const rows = [null, '2026-02-20', '2026-02-10'].map((one) => ({ day: one, problem: 'x' }))
  const bytes = await packRows({ rows, pending: [], count: 3 })
  const daysOf = async (isFirst: boolean) => {
    const slice = await sliceKeptRows(bytes, { until: '2026-02-15', isFirst })
    return parseRows(slice.rows).map((one) => one.day)
  }
  assert.equal((await daysOf(true))[0], null)
  assert.deepEqual(await daysOf(false), ['2026-02-10'])
})

async function keptCurrencyOf(told: readonly (readonly [string | null, string])[]) {
  const sent = told.map(([booking_date, currency]) => ({
    transaction_amount: { currency, amount: '5.20' },
    credit_debit_indicator: 'DBIT',
    status: 'BOOK',
    booking_date,
  }))
  return findKeptCurrency(await packRows(await keepRows(sent, null, () => undefined)))
}

test('the currency of an account is that of the newest day, where its rows have one alone', async () => {
  const older = ['2026-02-10', 'USD'] as const
  assert.equal(await keptCurrencyOf([older, ['2026-02-20', 'EUR'], ['2026-02-20', 'EUR']]), 'EUR')
  assert.equal(await keptCurrencyOf([older, ['2026-02-20', 'EUR'], ['2026-02-20', 'SEK']]), null)
  assert.equal(await keptCurrencyOf([older, [null, 'EUR']]), 'USD')
  assert.equal(await keptCurrencyOf([]), null)
})

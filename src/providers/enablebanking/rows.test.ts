/** Texts of a bank's rows are bounded, and what identifies a row (reading R37) stays below the bound. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isReadable, keepRows } from './rows.ts'

async function keep(text: string) {
  const sent = {
    transaction_amount: { currency: 'EUR', amount: '5.20' },
    credit_debit_indicator: 'DBIT',
    status: 'BOOK',
    entry_reference: text,
    booking_date: '2026-11-18',
    creditor: { name: text },
    debtor: { name: text },
    bank_transaction_code: { description: text, code: text, sub_code: text },
    remittance_information: [text, 'more'],
    note: text,
  }
  const { rows } = await keepRows([sent], null, () => undefined)
  const [row] = rows
  assert.ok(row !== undefined && isReadable(row))
  return row
}

test('the texts of a row are cut, in whole characters, and so is what it is known by', async () => {
  const row = await keep(`x${'😀'.repeat(100_000)}`)
  const cut = `x${'😀'.repeat(1023)}`
  assert.deepEqual([row.description, row.merchant, row.reference, row.note], [cut, cut, cut, cut])
  const parts = ['2026-11-18', 'EUR', '-5.20', cut, cut, cut, '', '', cut, cut, cut]
  assert.deepEqual([row.ordinal, row.content], [1, JSON.stringify(parts)])
})

test('a row with shorter texts is known by all of them, as before', async () => {
  const text = 'm'.repeat(2043)
  const row = await keep(text)
  const parts = ['2026-11-18', 'EUR', '-5.20', `${text} more`, text, text, '', '', text, text, text]
  assert.equal(row.content, JSON.stringify(parts))
})

test('a row that was sent with its reference and without is one, in every order of the bank', async () => {
  const sent = ['A', null, 'B', 'A', ''].map((reference) => ({
    transaction_amount: { currency: 'EUR', amount: '5.20' },
    credit_debit_indicator: 'DBIT',
    status: 'BOOK',
    entry_reference: reference,
    booking_date: '2026-11-18',
    balance_after_transaction: { amount: '90.00' },
  }))
  for (const [rows, references] of [
    [sent, ['A', 'B']],
    [sent.toReversed(), ['A', 'B']],
    [sent.filter((one) => !one.entry_reference), [null]],
  ] as const) {
    const kept = (await keepRows(rows, null, () => undefined)).rows.filter(isReadable)
    assert.deepEqual(kept.map(({ reference }) => reference).toSorted(), references)
    assert.deepEqual(kept.map(({ ordinal }) => ordinal).toSorted(), [1, 2].slice(0, kept.length))
  }
})

test('other work has its turns while the rows of many years are read', async () => {
  let turns = 0
  let isReading = true
  const other = (async () => {
    for (; isReading; turns += 1) await nextTurn()
  })()
  const { count } = await keepRows(new Array<object>(5000).fill({}), null, () => undefined)
  isReading = false
  await other
  assert.equal(count, 5000)
  assert.ok(turns >= 9, String(turns))
})

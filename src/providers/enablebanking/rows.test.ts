/** Texts of a bank's rows are bounded, and what identifies a row (reading R37) stays below the bound. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReadable, keepRows } from './rows.ts'

function keep(text: string) {
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
  const { rows } = keepRows([sent], null, () => undefined)
  const [row] = rows
  assert.ok(row !== undefined && isReadable(row))
  return row
}

test('the texts of a row are cut, in whole characters, and so is what it is known by', () => {
  const row = keep(`x${'😀'.repeat(100_000)}`)
  const cut = `x${'😀'.repeat(1023)}`
  assert.deepEqual([row.description, row.merchant, row.reference, row.note], [cut, cut, cut, cut])
  assert.deepEqual(row.parts, ['EUR', '-5.20', cut, cut, cut, '', '', cut, cut, cut])
})

test('a row with shorter texts is known by all of them, as before', () => {
  const text = 'm'.repeat(2043)
  const row = keep(text)
  assert.deepEqual(row.parts, [
    'EUR',
    '-5.20',
    `${text} more`,
    text,
    text,
    '',
    '',
    text,
    text,
    text,
  ])
})

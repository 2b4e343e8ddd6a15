/**
 * Checks the category mapping: the table is complete, and the fallbacks apply in order. The HTTP side is
 * tested in `tests/adapters/akahu`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCategoryKey } from '#contract/categories.ts'
import type { Decimal } from '#kernel/decimal.ts'
import { fromNzfcc, fromType, isKnownCode } from './categories.ts'
import nzfcc from './nzfcc.data.json' with { type: 'json' }

test('each of the 181 NZFCC codes becomes one of the sixteen keys', () => {
  assert.equal(nzfcc.rows.length, 181)
  for (const row of nzfcc.rows) {
    assert.ok(isCategoryKey(row.category), row.name)
    assert.equal(fromNzfcc({ code: row._id, group: 'Nonsense' }), row.category)
    assert.ok(isKnownCode(row._id))
  }
})

test('an unknown code falls back on its group, an unknown group on null', () => {
  const groups = new Set(nzfcc.rows.map((row) => row.group))
  assert.equal(groups.size, 10)
  for (const group of groups) assert.notEqual(fromNzfcc({ code: 'nzfcc_new', group }), null, group)
  assert.equal(fromNzfcc({ code: 'nzfcc_new', group: 'Transport' }), 'TRANSPORTATION')
  assert.equal(fromNzfcc({ code: null, group: 'Household' }), 'HOME_IMPROVEMENT')
  assert.equal(fromNzfcc({ code: 'nzfcc_new', group: 'Space' }), null)
  assert.equal(fromNzfcc({ code: null, group: null }), null)
  assert.equal(isKnownCode('nzfcc_new'), false)
})

const byType: [type: string, amount: string, key: string | null][] = [
  ['FEE', '-5', 'BANK_FEES'],
  ['LOAN', '900', 'LOAN_PAYMENTS'],
  ['TAX', '-7', 'GOVERNMENT_AND_NON_PROFIT'],
  ['TRANSFER', '-20', 'TRANSFER_OUT'],
  ['TRANSFER', '20', 'TRANSFER_IN'],
  ['INTEREST', '3.10', 'INCOME'],
  ['INTEREST', '-3.10', 'BANK_FEES'],
  ['INTEREST', '0', null],
  ['ATM', '-80', 'TRANSFER_OUT'],
  ['ATM', '80', null],
  ['EFTPOS', '-80', null],
  ['DIRECT CREDIT', '80', null],
]
for (const [type, amount, key] of byType) {
  test(`a row of type ${type} and ${amount} without a category is ${key}`, () => {
    assert.equal(fromType(type, amount as Decimal), key)
  })
}

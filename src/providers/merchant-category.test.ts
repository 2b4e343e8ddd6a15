import assert from 'node:assert/strict'
import { test } from 'node:test'
import { categoryOfMerchant } from './merchant-category.ts'

const cases = [
  ['5411', 'FOOD_AND_DRINK'],
  ['5814', 'FOOD_AND_DRINK'],
  ['5599', 'TRANSPORTATION'],
  ['3999', 'TRAVEL'],
  ['4900', 'RENT_AND_UTILITIES'],
  ['1799', 'HOME_IMPROVEMENT'],
  ['0742', 'MEDICAL'],
  ['7997', 'PERSONAL_CARE'],
  ['5976', 'MEDICAL'],
  ['7996', 'ENTERTAINMENT'],
  ['9402', 'GOVERNMENT_AND_NON_PROFIT'],
  ['8999', 'SERVICES'],
  ['5999', 'MERCHANDISE'],
  ['4829', null],
  ['0000', null],
  ['541', null],
  ['54110', null],
  ['٥٤١١', null],
] as const

for (const [code, category] of cases) {
  test(`the merchant category code ${code} is ${category ?? 'of no category'}`, () => {
    assert.equal(categoryOfMerchant(code, 'debit'), category)
  })
}

test('money from a cash machine is a transfer out, and money into one is of no category', () => {
  assert.equal(categoryOfMerchant('6011', 'debit'), 'TRANSFER_OUT')
  assert.equal(categoryOfMerchant('6011', 'credit'), null)
  assert.equal(categoryOfMerchant(null, 'debit'), null)
})

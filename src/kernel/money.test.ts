/** Checks the minor units of currencies and the conversion of amounts to integers (reading R24b). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decimal } from './decimal.ts'
import {
  currencyDigits,
  hasMinorUnit,
  parseCurrency,
  roundToCurrency,
  toMinorUnits,
} from './money.ts'

test('minor units follow ISO 4217: two digits but for the listed exceptions', () => {
  const digits = ['AUD', 'NZD', 'USD', 'JPY', 'KRW', 'KWD', 'IQD', 'CLF', 'ZZZ'].map(currencyDigits)
  assert.deepEqual(digits, [2, 2, 2, 0, 0, 3, 3, 4, 2])
  assert.equal(currencyDigits('constructor'), 2)
})

test('a code outside ISO 4217 has no minor unit', () => {
  for (const code of ['NZD', 'IQD', 'UYW', 'XPF']) assert.equal(hasMinorUnit(code), true, code)
  for (const code of ['BTC', 'PTS', 'XXX', 'ZZZ']) assert.equal(hasMinorUnit(code), false, code)
})

test('a currency is three capital letters', () => {
  assert.equal(parseCurrency('NZD'), 'NZD')
  for (const text of ['nzd', 'NZ', 'NZDD', 'N1D', ' NZD', 'NZD\n', '']) {
    assert.equal(parseCurrency(text), null, JSON.stringify(text))
  }
})

const amounts: readonly [string, string, bigint, boolean][] = [
  ['12.34', 'AUD', 1234n, false],
  ['-12.3', 'AUD', -1230n, false],
  ['12.340', 'AUD', 1234n, false],
  ['12.345', 'AUD', 1234n, true],
  ['12.355', 'AUD', 1236n, true],
  ['-0.001', 'AUD', 0n, true],
  ['500', 'JPY', 500n, false],
  ['500.5', 'JPY', 500n, true],
  ['501.50', 'JPY', 502n, true],
  ['1.234', 'KWD', 1234n, false],
  ['0', 'CLF', 0n, false],
  ['123456789012345678901234567890.12', 'USD', 12345678901234567890123456789012n, false],
]

for (const [amount, currency, units, rounded] of amounts) {
  test(`R24b: ${amount} ${currency} is ${units} minor units${rounded ? ', rounded' : ''}`, () =>
    assert.deepEqual(
      [
        toMinorUnits(amount as Decimal, currency),
        roundToCurrency(amount as Decimal, currency).isRounded,
      ],
      [units, rounded],
    ))
}

test('R24b: an amount has the digits of its currency, and no other digits when it needs no rounding', () => {
  for (const [amount, currency, value] of [
    ['12.34', 'AUD', '12.34'],
    ['12', 'AUD', '12.00'],
    ['12.340', 'AUD', '12.34'],
    ['-12.355', 'AUD', '-12.36'],
    ['500.5', 'JPY', '500'],
    ['500', 'JPY', '500'],
  ] as const) {
    assert.equal(roundToCurrency(amount as Decimal, currency).value, value)
  }
})

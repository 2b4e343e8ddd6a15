/** Checks the plain form of decimals by examples (readings R24, R24b). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  add,
  compare,
  type Decimal,
  fractionDigits,
  fromScaled,
  isNegative,
  isZero,
  multiply,
  negate,
  parseDecimal,
  roundHalfEven,
  roundSignificant,
  subtract,
  withoutTrailingZeros,
  zero,
} from './decimal.ts'

function decimal(text: string): Decimal {
  const value = parseDecimal(text)
  assert.ok(value !== null, text)
  return value
}

const plain: readonly [string, string][] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.00', '0.00'],
  ['+1.50', '1.50'],
  ['12345678901234567890.1234567890', '12345678901234567890.1234567890'],
  ['-0.10', '-0.10'],
  ['05.20', '5.20'],
  ['-000.1', '-0.1'],
  ['-00.00', '0.00'],
  ['0012', '12'],
  ['001.5e-1', '0.15'],
  ['001e-2', '0.01'],
  ['01e-3', '0.001'],
  ['1e3', '1000'],
  ['1E+3', '1000'],
  ['1.50e1', '15.0'],
  ['1.5e-7', '0.00000015'],
  ['12e-1', '1.2'],
  ['-12.5e-3', '-0.0125'],
  ['0.001e2', '0.1'],
  ['0.00100e2', '0.100'],
  ['-0e5', '0'],
  ['0e-2', '0.00'],
  ['1e40', `1${'0'.repeat(40)}`],
  ['1e-40', `0.${'0'.repeat(39)}1`],
]

for (const [given, wanted] of plain) {
  test(`R24: ${given} is ${wanted}`, () => assert.equal(parseDecimal(given), wanted))
}

const refused = ['', ' ', '1.', '.5', '1,5', '1_000', '0x10', 'NaN', 'Infinity', '--1', '1e']
for (const given of [
  ...refused,
  '+',
  '-',
  '1 ',
  ' 1',
  '1\n',
  '１',
  '1.2.3',
  '$1',
  'null',
  '1e1.5',
]) {
  test(`R24: ${JSON.stringify(given)} is no decimal`, () => assert.equal(parseDecimal(given), null))
}

test('R24b: an exponent beyond 40 either way is unreadable, however it is spelled', () => {
  for (const exponent of ['41', '-41', '+41', '999999', '9999999', '0041', '1e9']) {
    assert.equal(parseDecimal(`1e${exponent}`), null, exponent)
  }
  assert.equal(parseDecimal('1e0040'), `1${'0'.repeat(40)}`)
})

test('R24b: a text longer than 400 characters is unreadable, which bounds the work', () => {
  assert.equal(parseDecimal('9'.repeat(400)), '9'.repeat(400))
  assert.equal(parseDecimal('9'.repeat(401)), null)
})

test('sign and zero: nothing is below zero unless it is', () => {
  assert.ok(isZero(decimal('0.000')))
  assert.ok(!isZero(decimal('0.001')))
  assert.ok(isNegative(decimal('-0.1')))
  assert.ok(!isNegative(decimal('-0.0')))
  assert.equal(negate(decimal('0.00')), '0.00')
  assert.equal(negate(decimal('-1.50')), '1.50')
  assert.equal(negate(decimal('1.50')), '-1.50')
})

test('arithmetic keeps the digits that its operands have', () => {
  assert.equal(add(decimal('0.1'), decimal('0.2')), '0.3')
  assert.equal(add(decimal('1.50'), decimal('-1.5')), '0.00')
  assert.equal(subtract(decimal('1'), decimal('0.001')), '0.999')
  assert.equal(multiply(decimal('-1.10'), decimal('1.1')), '-1.210')
  assert.equal(compare(decimal('1.5'), decimal('1.500')), 0)
  assert.equal(compare(decimal('-2'), decimal('-1.999')), -1)
  assert.equal(compare(decimal('2'), decimal('1')), 1)
  assert.equal(compare(decimal('0.01'), decimal('0')), 1)
  assert.equal(zero, decimal('0'))
  assert.equal(fractionDigits(decimal('1.500')), 3)
  assert.equal(fromScaled(-5n, 3), '-0.005')
})

const rounded: readonly [string, number, string][] = [
  ['2.5', 0, '2'],
  ['3.5', 0, '4'],
  ['-2.5', 0, '-2'],
  ['-3.5', 0, '-4'],
  ['2.500001', 0, '3'],
  ['0.125', 2, '0.12'],
  ['0.135', 2, '0.14'],
  ['-0.004', 2, '0.00'],
  ['9.995', 2, '10.00'],
  ['1.5', 3, '1.500'],
  ['7', 2, '7.00'],
]

for (const [given, places, wanted] of rounded) {
  test(`${given} to ${places} places is ${wanted}: half to even, and never minus zero`, () =>
    assert.equal(roundHalfEven(decimal(given), places), wanted))
}

const significant: readonly [string, string][] = [
  ['318.40000000000003', '318.4'],
  ['-30252.859999999997', '-30252.86'],
  ['9.9999999999999999', '10'],
  ['99.9999999999999991', '100'],
  ['0.30000000000000004', '0.3'],
  ['0.000012345678901234567', '0.0000123456789012346'],
  ['1234.56789010000', '1234.56789010000'],
  ['12345678901234567890.5', '12345678901234567890'],
  ['12345678901234567890', '12345678901234567890'],
  ['0.00000000000000000000', '0.00000000000000000000'],
]

for (const [given, wanted] of significant) {
  test(`${given} to 15 significant digits is ${wanted}`, () =>
    assert.equal(roundSignificant(decimal(given), 15), wanted))
}

test('equal values have one form without zeros at the end', () => {
  for (const [given, wanted] of [
    ['1.50', '1.5'],
    ['-2.00', '-2'],
    ['0.0', '0'],
    ['100', '100'],
    ['100.10', '100.1'],
  ] as const) {
    assert.equal(withoutTrailingZeros(decimal(given)), wanted)
  }
})

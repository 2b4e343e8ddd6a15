/** An amount of Up is read exactly when its text and its integer are the same amount. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromScaled } from '#kernel/decimal.ts'
import { NumberText } from '#kernel/json.ts'
import { currencyDigits } from '#kernel/money.ts'
import { readMoney } from './money.ts'

const units = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
const currency = fc.constantFrom('AUD', 'JPY', 'KWD')

test('R24: the text of an amount is served as it stands when its integer proves it', () => {
  fc.assert(
    fc.property(units, currency, (count, currencyCode) => {
      const value = fromScaled(count, currencyDigits(currencyCode))
      for (const valueInBaseUnits of [String(count), new NumberText(String(count))]) {
        const money = readMoney({ currencyCode, value, valueInBaseUnits })
        assert.deepEqual(money, { amount: value, currency: currencyCode })
      }
    }),
  )
})

test('R24: an integer of another amount proves nothing, whatever the difference', () => {
  const other = units.filter((difference) => difference !== 0n)
  fc.assert(
    fc.property(units, other, currency, (count, difference, currencyCode) => {
      const value = fromScaled(count, currencyDigits(currencyCode))
      const valueInBaseUnits = String(count + difference)
      assert.equal(readMoney({ currencyCode, value, valueInBaseUnits }), null)
    }),
  )
})

test('a plain number proves an amount only while a float holds it exactly', () => {
  const amount = (value: string, valueInBaseUnits: number) =>
    readMoney({ currencyCode: 'AUD', value, valueInBaseUnits })?.amount ?? null
  assert.equal(amount('-59.98', -5998), '-59.98')
  assert.equal(amount('90071992547409.92', 2 ** 53), null)
  assert.equal(amount('0.00', -0), '0.00')
})

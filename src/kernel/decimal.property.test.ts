/**
 * Checks decimals against an independent model: an integer and a power of ten, computed with bigints only
 * (reading R24).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  add,
  compare,
  type Decimal,
  fractionDigits,
  multiply,
  negate,
  parseDecimal,
  roundHalfEven,
  subtract,
} from './decimal.ts'

interface Model {
  readonly units: bigint
  readonly places: number
}

const anyModel = fc.record({
  units: fc.oneof(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.bigInt(-20n, 20n)),
  places: fc.integer({ min: 0, max: 20 }),
})

/** Uses integer division; the code under test pads and slices text instead. */
function write({ units, places }: Model): string {
  const unit = 10n ** BigInt(places)
  const magnitude = units < 0n ? -units : units
  const sign = units < 0n ? '-' : ''
  if (places === 0) return `${sign}${magnitude}`
  return `${sign}${magnitude / unit}.${String(magnitude % unit).padStart(places, '0')}`
}

function read(model: Model): Decimal {
  const value = parseDecimal(write(model))
  assert.ok(value !== null)
  return value
}

/** Both values as integers at the higher number of fraction digits. */
function align(one: Model, other: Model): readonly [bigint, bigint, number] {
  const places = Math.max(one.places, other.places)
  const lift = ({ units, places: own }: Model) => units * 10n ** BigInt(places - own)
  return [lift(one), lift(other), places]
}

test('R24: a plain decimal comes back with every digit as it was sent', () => {
  fc.assert(fc.property(anyModel, (model) => assert.equal(read(model), write(model))))
})

test('R24: zeros before a number change nothing of it', () => {
  const zeros = fc.integer({ min: 1, max: 9 })
  fc.assert(
    fc.property(anyModel, zeros, fc.constantFrom('', 'e-7', 'e7'), (model, count, exponent) => {
      const text = `${write(model)}${exponent}`
      const padded = text.replace(/\d/, (first) => '0'.repeat(count) + first)
      assert.equal(parseDecimal(padded), parseDecimal(text))
      assert.notEqual(parseDecimal(text), null)
    }),
  )
})

test('R24: an exponent moves the decimal point and keeps every digit', () => {
  const exponents = fc.integer({ min: -40, max: 40 })
  fc.assert(
    fc.property(anyModel, exponents, fc.constantFrom('e', 'E'), (model, exponent, letter) => {
      const value = parseDecimal(`${write(model)}${letter}${exponent}`)
      assert.ok(value !== null && !/[eE+]/.test(value))
      const places = fractionDigits(value)
      assert.equal(places, Math.max(0, model.places - exponent))
      const shift = places - (model.places - exponent)
      assert.equal(value, write({ units: model.units * 10n ** BigInt(shift), places }))
    }),
  )
})

test('sums, differences, products and order are those of the integers behind them', () => {
  fc.assert(
    fc.property(anyModel, anyModel, (one, other) => {
      const [left, right, places] = align(one, other)
      assert.equal(add(read(one), read(other)), write({ units: left + right, places }))
      assert.equal(subtract(read(one), read(other)), write({ units: left - right, places }))
      assert.equal(
        multiply(read(one), read(other)),
        write({ units: one.units * other.units, places: one.places + other.places }),
      )
      assert.equal(compare(read(one), read(other)), left < right ? -1 : left > right ? 1 : 0)
      assert.equal(negate(read(one)), write({ units: -one.units, places: one.places }))
    }),
  )
})

test('R24b: rounding is off by at most half a unit, and by exactly half only towards an even digit', () => {
  fc.assert(
    fc.property(anyModel, fc.integer({ min: 0, max: 22 }), (model, places) => {
      const result = roundHalfEven(read(model), places)
      assert.equal(fractionDigits(result), places)
      const units = BigInt(result.replace('.', ''))
      const [exact, near, finest] = align(model, { units, places })
      const distance = exact > near ? exact - near : near - exact
      const whole = 10n ** BigInt(finest - places)
      assert.ok(distance * 2n <= whole)
      if (distance * 2n === whole && distance > 0n) assert.equal(units % 2n, 0n)
    }),
  )
})

test('any text gives null or a plain decimal', () => {
  const nearly = fc.stringMatching(/^[-+]?[0-9.eE+-]{0,12}$/)
  fc.assert(
    fc.property(fc.oneof(nearly, fc.string()), (text) => {
      const value = parseDecimal(text)
      if (value === null) return
      assert.match(value, /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/)
      assert.doesNotMatch(value, /^-[0.]+$/)
      assert.equal(Number(value), Number(text) + 0)
    }),
    { numRuns: 1000 },
  )
})

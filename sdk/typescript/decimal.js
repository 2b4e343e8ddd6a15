/** Exact arithmetic over the API's decimal text. Nothing here makes a float of an amount. */

/** @import { DecimalString } from './types.js' */

const pattern = /^(-?)(\d+)(?:\.(\d+))?$/

/**
 * A decimal as a whole number of units of 10^-scale.
 * @param {string} text
 * @returns {{ units: bigint, scale: number }}
 */
function parse(text) {
  const match = typeof text === 'string' ? pattern.exec(text) : null
  if (match === null) throw new TypeError(`not decimal text: ${JSON.stringify(text)}`)
  const [, sign = '', whole = '', fraction = ''] = match
  return { units: BigInt(sign + whole + fraction), scale: fraction.length }
}

/**
 * @param {bigint} units
 * @param {number} scale
 * @returns {DecimalString}
 */
function format(units, scale) {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return /** @type {DecimalString} */ (units < 0n ? `-${text}` : text)
}

/** @param {{ units: bigint, scale: number }} decimal @param {number} scale */
const scaleTo = (decimal, scale) => decimal.units * 10n ** BigInt(scale - decimal.scale)

/**
 * The exact sum, with as many decimals as the longest of them. Never sum over several currencies.
 * @param {Iterable<string>} amounts
 */
export function sum(amounts) {
  let [units, scale] = [0n, 0]
  for (const amount of amounts) {
    const next = parse(amount)
    const wanted = Math.max(scale, next.scale)
    units = scaleTo({ units, scale }, wanted) + scaleTo(next, wanted)
    scale = wanted
  }
  return format(units, scale)
}

/**
 * Negative, zero or positive, for `Array.sort`.
 * @param {string} one
 * @param {string} other
 * @returns {-1 | 0 | 1}
 */
export function compare(one, other) {
  const [left, right] = [parse(one), parse(other)]
  const scale = Math.max(left.scale, right.scale)
  const difference = scaleTo(left, scale) - scaleTo(right, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Decimals of a currency's minor unit that are not two (ISO 4217). */
const exponents = new Map(
  Object.entries({
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  }).flatMap(([digits, codes]) => codes.split(' ').map((code) => [code, Number(digits)])),
)

/**
 * The amount in the currency's smallest unit, as events have it: `-655.00` AUD is -65500n.
 * @param {string} amount
 * @param {string} currency An ISO 4217 code.
 * @throws {RangeError} For digits beyond the smallest unit.
 */
export function toMinorUnits(amount, currency) {
  const { units, scale } = parse(amount)
  const digits = exponents.get(currency.toUpperCase()) ?? 2
  if (scale <= digits) return scaleTo({ units, scale }, digits)
  const rest = 10n ** BigInt(scale - digits)
  if (units % rest !== 0n) {
    throw new RangeError(`${amount} ${currency} has digits beyond the smallest unit`)
  }
  return units / rest
}

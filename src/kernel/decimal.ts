/**
 * Exact decimals as plain text: no float ever touches an amount (contract, What the service does; readings
 * R24, R24b). Digits and trailing zeros are kept as received. Arithmetic uses scaled bigints; only
 * `roundHalfEven` and `roundSignificant` round.
 */

declare const brand: unique symbol
/**
 * Plain decimal text: optional `-`, digits, optional fraction; no exponent, no leading `+`, no negative zero.
 */
export type Decimal = string & { readonly [brand]: 'decimal' }

/** Reading R24b: an exponent beyond this is unreadable, because expanding it could exhaust memory. */
const maxExponent = 40
const maxLength = 400
const plain = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const numeric = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/

export const zero = '0' as Decimal

/**
 * Reads a JSON number token or a provider's decimal string, which may begin with zeros: "05.20" is 5.20.
 * @returns the plain form with every other digit kept, or null when it is not a number within the bounds.
 */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > maxLength) return null
  if (plain.test(text)) return withoutNegativeZero(text)
  const match = numeric.exec(text)
  if (match === null) return null
  const [, sign = '', whole = '0', fraction = '', exponentText] = match
  const exponent = exponentText === undefined ? 0 : Number(exponentText)
  if (Math.abs(exponent) > maxExponent) return null
  return withoutNegativeZero((sign === '-' ? '-' : '') + shiftPoint(whole, fraction, exponent))
}

/** Moves the point of `whole.fraction` by `exponent` places: "1.50" by 1 is "15.0", "1" by -2 is "0.01". */
function shiftPoint(whole: string, fraction: string, exponent: number): string {
  const point = whole.length + exponent
  const digits = whole + fraction
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return stripZeros(digits + '0'.repeat(point - digits.length))
  return `${stripZeros(digits.slice(0, point))}.${digits.slice(point)}`
}

function stripZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '')
}

function withoutNegativeZero(text: string): Decimal {
  if (text.charCodeAt(0) === 45 && isZero(text as Decimal)) return text.slice(1) as Decimal
  return text as Decimal
}

/** True for 0, 0.00 and so on. */
export function isZero(value: Decimal): boolean {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index)
    if (code > 48 && code <= 57) return false
  }
  return true
}

/** True below zero; zero is never negative. */
export function isNegative(value: Decimal): boolean {
  return value.charCodeAt(0) === 45
}

export function negate(value: Decimal): Decimal {
  if (isZero(value)) return value
  return (isNegative(value) ? value.slice(1) : `-${value}`) as Decimal
}

/** The number of digits after the point, as written. */
export function fractionDigits(value: Decimal): number {
  const point = value.indexOf('.')
  return point === -1 ? 0 : value.length - point - 1
}

/** The value times 10^places as an integer; `places` must be at least its number of fraction digits. */
export function toScaled(value: Decimal, places: number): bigint {
  const missing = places - fractionDigits(value)
  return BigInt(value.replace('.', '') + '0'.repeat(missing))
}

/** The inverse of `toScaled`: a count of 10^-places as plain text with exactly `places` fraction digits. */
export function fromScaled(units: bigint, places: number): Decimal {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  if (places === 0) return (sign + digits) as Decimal
  return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}` as Decimal
}

/** -1, 0 or 1; 1.5 equals 1.50. */
export function compare(left: Decimal, right: Decimal): -1 | 0 | 1 {
  const places = Math.max(fractionDigits(left), fractionDigits(right))
  const difference = toScaled(left, places) - toScaled(right, places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export function add(left: Decimal, right: Decimal): Decimal {
  const places = Math.max(fractionDigits(left), fractionDigits(right))
  return fromScaled(toScaled(left, places) + toScaled(right, places), places)
}

export function subtract(left: Decimal, right: Decimal): Decimal {
  return add(left, negate(right))
}

/** The exact product; it has as many fraction digits as both factors together. */
export function multiply(left: Decimal, right: Decimal): Decimal {
  const places = fractionDigits(left) + fractionDigits(right)
  return fromScaled(
    toScaled(left, fractionDigits(left)) * toScaled(right, fractionDigits(right)),
    places,
  )
}

/** Rounds to `places` fraction digits, ties to the even neighbour; shorter values are padded with zeros. */
export function roundHalfEven(value: Decimal, places: number): Decimal {
  const digits = fractionDigits(value)
  if (digits <= places) return fromScaled(toScaled(value, places), places)
  const units = toScaled(value, digits)
  const divisor = 10n ** BigInt(digits - places)
  const magnitude = units < 0n ? -units : units
  const quotient = magnitude / divisor
  const twice = (magnitude % divisor) * 2n
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n)
  const rounded = up ? quotient + 1n : quotient
  return fromScaled(units < 0n ? -rounded : rounded, places)
}

/**
 * Rounds what has more than `count` significant digits, ties to the even neighbour, and drops the zeros that
 * this leaves at the end. Other values stay as written, and digits before the point are never rounded.
 */
export function roundSignificant(value: Decimal, count: number): Decimal {
  const surplus = value.replace(/^[-0.]+/, '').replace('.', '').length - count
  const digits = fractionDigits(value)
  if (surplus <= 0 || digits === 0) return value
  return withoutTrailingZeros(roundHalfEven(value, Math.max(0, digits - surplus)))
}

/** Equal values have one such form: 1.50 and 1.5 are both 1.5. */
export function withoutTrailingZeros(value: Decimal): Decimal {
  return (value.includes('.') ? value.replace(/\.?0+$/, '') : value) as Decimal
}

/** Amounts on pages: exact text with the currency, and sums that never mix currencies. */
import { add, compare, type Decimal, isNegative, negate, zero } from '#kernel/decimal.ts'
import { foreignText, type Html, html } from '../html.ts'

/** ISO 4217 for what has no currency, such as points of a loyalty scheme. */
const noCurrency = 'XXX'

export const isNoCurrency = (currency: string) => currency === noCurrency

export const nameCurrency = (currency: string) =>
  isNoCurrency(currency) ? 'no currency' : foreignText(currency, 12)

/**
 * The exact value, with its digits in groups of three. One switch of the page hides everything of this class.
 * @param currency null: a number of something else, such as units.
 */
export function renderAmount(value: Decimal, currency: string | null): Html {
  const unit = currency === null || currency === noCurrency ? '' : ` ${foreignText(currency, 12)}`
  return html`<data class="amount" value="${value}">${group(value)}${unit}</data>`
}

function group(value: Decimal): string {
  const [whole = '', fraction] = value.replace('-', '').split('.')
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return `${isNegative(value) ? '−' : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`
}

/** Exact sums by name, in the order in which the names first occur. */
export function sumBy<Row>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  toValue: (row: Row) => Decimal,
): ReadonlyMap<string, Decimal> {
  const sums = new Map<string, Decimal>()
  for (const row of rows) {
    const name = nameOf(row)
    sums.set(name, add(sums.get(name) ?? zero, toValue(row)))
  }
  return sums
}

const magnitude = (value: Decimal): Decimal => (isNegative(value) ? negate(value) : value)

/** The largest, whatever the signs. */
export function largest(values: readonly Decimal[]): Decimal {
  let most: Decimal = zero
  for (const value of values) if (compare(magnitude(value), most) > 0) most = magnitude(value)
  return most
}

/** How much of the largest it is, 0 to 1: for drawing alone. */
export function toShare(value: Decimal, most: Decimal): number {
  const whole = Number(most)
  return whole === 0 ? 0 : Math.min(1, Math.abs(Number(value)) / whole)
}

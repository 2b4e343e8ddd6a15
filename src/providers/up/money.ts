/**
 * Up's amounts: `{currencyCode, value, valueInBaseUnits}`, the same amount as exact text and as an integer of
 * the minor unit. One proves the other: where they disagree, neither is used (reading R24).
 */
import { compare, type Decimal, fromScaled, parseDecimal } from '#kernel/decimal.ts'
import { NumberText, readField } from '#kernel/json.ts'
import { currencyDigits, parseCurrency } from '#kernel/money.ts'

export interface Money {
  readonly amount: Decimal
  /** ISO 4217. */
  readonly currency: string
}

/** Null when a field is absent or unreadable, or when text and integer are not the same amount. */
export function readMoney(value: unknown): Money | null {
  const text = readField(value, 'value')
  const code = readField(value, 'currencyCode')
  const units = readUnits(readField(value, 'valueInBaseUnits'))
  const amount = typeof text === 'string' ? parseDecimal(text) : null
  const currency = typeof code === 'string' ? parseCurrency(code) : null
  if (amount === null || currency === null || units === null) return null
  if (compare(amount, fromScaled(units, currencyDigits(currency))) !== 0) return null
  return { amount, currency }
}

/** Text where the parser has kept the number's digits; a plain number only while a float holds it exactly. */
function readUnits(value: unknown): bigint | null {
  const text =
    value instanceof NumberText
      ? value.source
      : typeof value === 'number' && Number.isSafeInteger(value)
        ? String(value)
        : value
  return typeof text === 'string' && /^-?\d{1,60}$/.test(text) ? BigInt(text) : null
}

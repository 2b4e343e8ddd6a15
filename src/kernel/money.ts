/**
 * Currencies: the ISO 4217 minor units, and the only conversion of an amount to an integer of minor units
 * (for events only, reading R24b).
 */
import { compare, type Decimal, fractionDigits, roundHalfEven, toScaled } from './decimal.ts'
import { atFirstUse } from './lazily.ts'

/** ISO 4217, list one: currencies that do not have two fraction digits. */
const minorUnitDigits: ReadonlyMap<string, number> = new Map(
  Object.entries({
    BHD: 3,
    BIF: 0,
    CLF: 4,
    CLP: 0,
    DJF: 0,
    GNF: 0,
    IQD: 3,
    ISK: 0,
    JOD: 3,
    JPY: 0,
    KMF: 0,
    KRW: 0,
    KWD: 3,
    LYD: 3,
    OMR: 3,
    PYG: 0,
    RWF: 0,
    TND: 3,
    UGX: 0,
    UYI: 0,
    UYW: 4,
    VND: 0,
    VUV: 0,
    XAF: 0,
    XOF: 0,
    XPF: 0,
  }),
)

/** Fraction digits of a currency by ISO 4217; two for every code that is not an exception. */
export function currencyDigits(currency: string): number {
  return minorUnitDigits.get(currency) ?? 2
}

/** False for a code outside ISO 4217, a coin or points: it has no minor unit that an amount is rounded to. */
export function hasMinorUnit(currency: string): boolean {
  return minorUnitDigits.has(currency) || knownCurrencies().has(currency)
}

/** The runtime knows the names; its digits are not those of ISO 4217. */
const knownCurrencies = atFirstUse(() => new Set(Intl.supportedValuesOf('currency')))

/** A three-letter upper-case code, or null. The adapter decides about any other text of its provider. */
export function parseCurrency(text: string): string | null {
  return /^[A-Z]{3}$/.test(text) ? text : null
}

/** The amount with its currency's fraction digits, rounded half to even; `isRounded`: digits were lost. */
export function roundToCurrency(
  amount: Decimal,
  currency: string,
): { readonly value: Decimal; readonly isRounded: boolean } {
  const digits = currencyDigits(currency)
  const given = fractionDigits(amount)
  if (given === digits) return { value: amount, isRounded: false }
  const value = roundHalfEven(amount, digits)
  return { value, isRounded: given > digits && compare(value, amount) !== 0 }
}

/** The amount as an integer of minor units, rounded half to even. */
export function toMinorUnits(amount: Decimal, currency: string): bigint {
  return toScaled(roundToCurrency(amount, currency).value, currencyDigits(currency))
}

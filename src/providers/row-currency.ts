/**
 * The currency of a transaction where it is not its account's: a card may have amounts in several. The
 * contract names it only then, so that nobody takes or sums such an amount for one of the account's currency.
 */
import type { Transaction } from '#contract/resources.ts'
import { parseCurrency } from '#kernel/money.ts'
import type { AccountRef } from './port.ts'

/** @param text as the provider sent it; null: it tells none. A text that is no code of ISO 4217 is `XXX`. */
export function toOtherCurrency(
  text: string | null,
  account: Pick<AccountRef, 'currency'>,
): Pick<Transaction, 'currency'> {
  const currency = text === null ? null : (parseCurrency(text.toUpperCase()) ?? 'XXX')
  return currency === null || currency === account.currency ? {} : { currency }
}

/** What positions are worth: the provider's market value, else quantity times price. Exact; null: unknown. */
import type { Holding } from '#contract/resources.ts'
import { add, type Decimal, multiply, zero } from '#kernel/decimal.ts'

/** The value of a position; null: its price is not known. */
export const valuePosition = ({ marketValue, currentPrice, quantity }: Holding): Decimal | null =>
  marketValue ?? (currentPrice === null ? null : multiply(quantity, currentPrice))

/**
 * The sum of all positions in the account's currency; null: one of them has no value, or another currency.
 */
export function sumHoldings(holdings: readonly Holding[], currency: string): Decimal | null {
  let sum: Decimal = zero
  for (const holding of holdings) {
    const value = holding.currency === currency ? valuePosition(holding) : null
    if (value === null) return null
    sum = add(sum, value)
  }
  return sum
}

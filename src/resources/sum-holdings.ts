/** What the positions of an account are worth together, as the provider values them. Exact. */
import type { Holding } from '#contract/resources.ts'
import { add, type Decimal, zero } from '#kernel/decimal.ts'

/**
 * The sum of all positions in the account's currency; null: one of them has no value, or another currency.
 */
export function sumHoldings(holdings: readonly Holding[], currency: string): Decimal | null {
  let sum: Decimal = zero
  for (const { marketValue, currency: own } of holdings) {
    if (own !== currency || marketValue === null) return null
    sum = add(sum, marketValue)
  }
  return sum
}

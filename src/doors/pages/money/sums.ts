/** What is computed of the rows that were just read: exact sums, never over currencies. Pure. */
import { categoryLabels } from '#contract/categories.ts'
import type { Holding, Transaction } from '#contract/resources.ts'
import { add, compare, type Decimal, isNegative, negate, subtract, zero } from '#kernel/decimal.ts'
import { sumBy } from './amounts.ts'

export interface MonthFlow {
  /** `YYYY-MM`. */
  readonly month: string
  readonly moneyIn: Decimal
  /** Not negative. */
  readonly moneyOut: Decimal
}

type Row = Pick<Transaction, 'date' | 'amount' | 'category'>

/** Newest first. */
export function sumMonths(rows: readonly Row[]): readonly MonthFlow[] {
  const [moneyIn, moneyOut] = [false, true].map((isOut) =>
    sumBy(
      rows.filter(({ amount }) => isNegative(amount) === isOut),
      ({ date }) => date.slice(0, 7),
      ({ amount }) => (isOut ? negate(amount) : amount),
    ),
  )
  const months = new Set(rows.map(({ date }) => date.slice(0, 7)))
  return [...months]
    .toSorted()
    .toReversed()
    .map((month) => ({
      month,
      moneyIn: moneyIn?.get(month) ?? zero,
      moneyOut: moneyOut?.get(month) ?? zero,
    }))
}

export const labelOf = (category: string | null) =>
  category === null ? 'Not categorised' : (categoryLabels.get(category) ?? category)

/** What went out, by category, the most first. */
export function sumSpending(rows: readonly Row[]) {
  const out = rows.filter(({ amount }) => isNegative(amount))
  const sums = sumBy(
    out,
    ({ category }) => labelOf(category),
    ({ amount }) => negate(amount),
  )
  return [...sums]
    .map(([name, value]) => ({ name, value }))
    .toSorted((one, other) => compare(other.value, one.value))
}

export interface DayBalance {
  /** `YYYY-MM-DD`. */
  readonly day: string
  /** At the end of the day. */
  readonly balance: Decimal
}

/**
 * From today's balance backwards: what a day's rows changed is taken away again. The rows must be all of the
 * time until now. @returns oldest first.
 */
export function computeBalances(
  rows: readonly Row[],
  current: Decimal,
  today: string,
): readonly DayBalance[] {
  const changes = sumBy(
    rows,
    ({ date }) => date,
    ({ amount }) => amount,
  )
  // Rows of tomorrow, as some banks have them, end the line there.
  const days = [...new Set([today, ...changes.keys()])].toSorted().toReversed()
  const balances: DayBalance[] = []
  let balance = current
  for (const day of days) {
    balances.push({ day, balance })
    balance = subtract(balance, changes.get(day) ?? zero)
  }
  return balances.toReversed()
}

export interface Worth {
  readonly currency: string
  /** The sum of the positions whose value is known. */
  readonly value: Decimal
  /** Positions without a value. */
  readonly unknown: number
}

/** Positions by currency. */
export function sumWorth(holdings: readonly Holding[]): readonly Worth[] {
  const byCurrency = Map.groupBy(holdings, ({ currency }) => currency)
  return [...byCurrency].map(([currency, positions]) => {
    const values = positions.map(({ marketValue }) => marketValue)
    const known = values.filter((value) => value !== null)
    return {
      currency,
      value: known.reduce<Decimal>((sum, value) => add(sum, value), zero),
      unknown: values.length - known.length,
    }
  })
}

/**
 * Maps NZFCC, the category list that Akahu uses, to the sixteen keys of the contract. The mapping is our own
 * (Akahu has no such keys, and no income or transfer groups); docs/providers/akahu.md, Categories, names the
 * source.
 */
import { type CategoryKey, isCategoryKey } from '#contract/categories.ts'
import { type Decimal, isNegative, isZero } from '#kernel/decimal.ts'
import nzfcc from './nzfcc.data.json' with { type: 'json' }

const byCode: ReadonlyMap<string, CategoryKey> = new Map(
  nzfcc.rows.flatMap(({ _id, category }) =>
    isCategoryKey(category) ? [[_id, category] as const] : [],
  ),
)

/** For codes newer than the table; the ten groups rarely change. */
const byGroup: ReadonlyMap<string, CategoryKey> = new Map([
  ['Appearance', 'MERCHANDISE'],
  ['Education', 'SERVICES'],
  ['Food', 'FOOD_AND_DRINK'],
  ['Health', 'MEDICAL'],
  ['Household', 'HOME_IMPROVEMENT'],
  ['Housing', 'RENT_AND_UTILITIES'],
  ['Lifestyle', 'ENTERTAINMENT'],
  ['Professional Services', 'SERVICES'],
  ['Transport', 'TRANSPORTATION'],
  ['Utilities', 'RENT_AND_UTILITIES'],
])

/** A row's category from Akahu: its code and the name of its group, where present. */
export interface NzfccCategory {
  readonly code: string | null
  readonly group: string | null
}

/** The key of an NZFCC category: by its code, otherwise by its group, otherwise null. */
export function fromNzfcc(category: NzfccCategory): CategoryKey | null {
  const known = category.code === null ? undefined : byCode.get(category.code)
  if (known !== undefined) return known
  return category.group === null ? null : (byGroup.get(category.group) ?? null)
}

/** True when the table has this code; other codes are reported, so that the table can be updated. */
export function isKnownCode(code: string | null): boolean {
  return code !== null && byCode.has(code)
}

/** The key of a row without a category, as far as its type and sign prove one; otherwise null. */
export function fromType(type: unknown, amount: Decimal): CategoryKey | null {
  switch (type) {
    case 'FEE':
      return 'BANK_FEES'
    case 'LOAN':
      return 'LOAN_PAYMENTS'
    case 'TAX':
      return 'GOVERNMENT_AND_NON_PROFIT'
    case 'TRANSFER':
      return isNegative(amount) ? 'TRANSFER_OUT' : 'TRANSFER_IN'
    case 'INTEREST':
      if (isZero(amount)) return null
      return isNegative(amount) ? 'BANK_FEES' : 'INCOME'
    case 'ATM':
      return isNegative(amount) ? 'TRANSFER_OUT' : null
    default:
      return null
  }
}

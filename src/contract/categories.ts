/**
 * The sixteen fixed categories, in the order of the contract (contract, Category). Providers' codes are
 * mapped to these keys or to null.
 */
export const categories = [
  { key: 'BANK_FEES', label: 'Bank Fees' },
  { key: 'ENTERTAINMENT', label: 'Entertainment' },
  { key: 'FOOD_AND_DRINK', label: 'Food & Drink' },
  { key: 'GOVERNMENT_AND_NON_PROFIT', label: 'Government & Non-Profit' },
  { key: 'HOME_IMPROVEMENT', label: 'Home Improvement' },
  { key: 'INCOME', label: 'Income' },
  { key: 'LOAN_PAYMENTS', label: 'Loan Payments' },
  { key: 'MEDICAL', label: 'Medical' },
  { key: 'MERCHANDISE', label: 'Merchandise' },
  { key: 'PERSONAL_CARE', label: 'Personal Care' },
  { key: 'RENT_AND_UTILITIES', label: 'Rent & Utilities' },
  { key: 'SERVICES', label: 'Services' },
  { key: 'TRANSFER_IN', label: 'Transfer In' },
  { key: 'TRANSFER_OUT', label: 'Transfer Out' },
  { key: 'TRANSPORTATION', label: 'Transportation' },
  { key: 'TRAVEL', label: 'Travel' },
] as const

/** By key. */
export const categoryLabels: ReadonlyMap<string, string> = new Map(
  categories.map(({ key, label }) => [key, label]),
)

export type CategoryKey = (typeof categories)[number]['key']

export const categoryKeys = categories.map((category) => category.key)

const known: ReadonlySet<string> = new Set(categoryKeys)

/** True for one of the sixteen keys. */
export function isCategoryKey(text: string): text is CategoryKey {
  return known.has(text)
}

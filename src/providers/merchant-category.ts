/** Our category of a merchant category code (ISO 18245), for banks that send codes and no categories. */
import type { CategoryKey } from '#contract/categories.ts'

type Range = number | readonly [from: number, to: number]

/** The first entry that has the code decides. */
const table: readonly (readonly [CategoryKey, readonly Range[]])[] = [
  ['FOOD_AND_DRINK', [5411, 5422, 5441, 5451, 5462, 5499, [5811, 5814], 5921]],
  ['TRANSPORTATION', [4111, 4112, 4121, 4131, 4784, 4789, [5511, 5599], 7523, [7531, 7549], 5983]],
  ['TRAVEL', [[3000, 3999], 4411, 4511, 4722, 7011, 7012, 7032, 7033, 7512, 7513, 7519]],
  ['RENT_AND_UTILITIES', [[4812, 4816], 4821, 4899, 4900, 6513]],
  ['HOME_IMPROVEMENT', [[1520, 1799], 5200, 5211, 5231, 5251, 5261, [5712, 5719], 5722]],
  ['MEDICAL', [742, 4119, 5912, 5975, 5976, [8011, 8099]]],
  ['PERSONAL_CARE', [7230, 7297, 7298, 7997, 5977]],
  ['ENTERTAINMENT', [5733, 5735, [5815, 5818], [7829, 7996], 7998, 7999]],
  ['GOVERNMENT_AND_NON_PROFIT', [8398, 8641, 8651, 8661, [9211, 9405]]],
  [
    'SERVICES',
    [
      6300,
      [7210, 7221],
      [7251, 7296],
      7299,
      [7311, 7399],
      [7622, 7699],
      8111,
      [8211, 8299],
      8351,
      [8911, 8999],
      4215,
    ],
  ],
  ['MERCHANDISE', [[5013, 5199], [5262, 5399], [5611, 5699], 5732, 5734, [5931, 5999]]],
]

/** Cash and disbursements: money out is a transfer, money in is not known. */
const cash = new Set([6010, 6011])

/** @param code four digits; anything else, and a code without a category, is null. */
export function categoryOfMerchant(
  code: string | null,
  direction: 'credit' | 'debit',
): CategoryKey | null {
  if (code === null || !/^\d{4}$/.test(code)) return null
  const number = Number(code)
  if (cash.has(number)) return direction === 'debit' ? 'TRANSFER_OUT' : null
  const found = table.find(([, ranges]) => ranges.some((range) => isIn(number, range)))
  return found?.[0] ?? null
}

const isIn = (code: number, range: Range): boolean =>
  typeof range === 'number' ? code === range : code >= range[0] && code <= range[1]

/**
 * Maps Up's own categories to the sixteen keys of the contract. The table is our own; Up has neither income
 * nor transfers among its categories (docs/providers/up.md, Categories).
 */
import type { CategoryKey } from '#contract/categories.ts'

/** The ids of Up's categories by our key; null: known, and of no key. */
const groups: readonly (readonly [CategoryKey | null, readonly string[]])[] = [
  ['FOOD_AND_DRINK', ['restaurants-and-cafes', 'takeaway', 'groceries', 'pubs-and-bars', 'booze']],
  [
    'ENTERTAINMENT',
    [
      'tv-and-music',
      'hobbies',
      'events-and-gigs',
      'games-and-software',
      'lottery-and-gambling',
      'adult',
    ],
  ],
  ['TRAVEL', ['holidays-and-travel']],
  ['RENT_AND_UTILITIES', ['utilities', 'internet', 'mobile-phone', 'rent-and-mortgage']],
  ['HOME_IMPROVEMENT', ['home-maintenance-and-improvements']],
  [
    'MERCHANDISE',
    [
      'homeware-and-appliances',
      'clothing-and-accessories',
      'technology',
      'news-magazines-and-books',
      'tobacco-and-vaping',
      'pets',
    ],
  ],
  ['MEDICAL', ['health-and-medical']],
  ['PERSONAL_CARE', ['fitness-and-wellbeing', 'hair-and-beauty']],
  ['SERVICES', ['home-insurance-and-rates', 'life-admin', 'education-and-student-loans']],
  ['GOVERNMENT_AND_NON_PROFIT', ['gifts-and-charity']],
  ['LOAN_PAYMENTS', ['car-repayments']],
  [
    'TRANSPORTATION',
    [
      'fuel',
      'public-transport',
      'taxis-and-share-cars',
      'parking',
      'toll-roads',
      'cycling',
      'car-insurance-and-maintenance',
    ],
  ],
  [null, ['investments', 'family']],
]

const table: ReadonlyMap<string, CategoryKey | null> = new Map(
  groups.flatMap(([key, ids]) => ids.map((id) => [id, key] as const)),
)

/** The key of a category; null where it has none. `isKnown` is false for ids that the table lacks. */
export function toCategoryKey(id: string): {
  readonly key: CategoryKey | null
  readonly isKnown: boolean
} {
  return { key: table.get(id) ?? null, isKnown: table.has(id) }
}

/** Fiskil's primary categories, which have our names except two. */
import { type CategoryKey, isCategoryKey } from '#contract/categories.ts'

/** The category key for Fiskil's primary category (same names as ours except two); null for anything else. */
export function toCategoryKey(primary: string): CategoryKey | null {
  if (primary === 'GENERAL_MERCHANDISE') return 'MERCHANDISE'
  if (primary === 'GENERAL_SERVICES') return 'SERVICES'
  return isCategoryKey(primary) ? primary : null
}

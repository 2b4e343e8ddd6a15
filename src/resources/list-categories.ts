/** The sixteen fixed categories. */
import { categories } from '#contract/categories.ts'
import type { Category } from '#contract/resources.ts'
import { type ReadResult, whole } from './read-context.ts'

export function makeListCategories() {
  return async (): Promise<ReadResult<{ categories: Category[] }>> =>
    whole({ categories: categories.map((category) => ({ ...category })) })
}

/**
 * The rows of a walk, each once. Where a bank's key is a place in its list, a row that arrives while pages
 * are read moves the others on, and the next page begins with rows of the one before
 * (docs/providers/enable-banking.md, Transactions). Pure.
 */

/**
 * A row of a later page that is equal to one of an earlier page, with the same `entry_reference`, is that
 * row. On one page both stay; and where a bank gives one reference to two rows of a page, it tells no rows
 * apart, and all stay.
 */
export function joinPages(pages: readonly (readonly unknown[])[]): readonly unknown[] {
  const earlier = new Map<string, unknown[]>()
  const rows: unknown[] = []
  const repeated = new Set<unknown>()
  for (const page of pages) {
    const own = new Map<string, unknown>()
    for (const row of page) {
      rows.push(row)
      const reference = referenceOf(row)
      if (reference === null) continue
      if (own.has(reference)) return pages.flat()
      own.set(reference, row)
      const before = earlier.get(reference) ?? []
      if (before.some((one) => toContent(one) === toContent(row))) repeated.add(row)
    }
    for (const [reference, row] of own) {
      const before = earlier.get(reference)
      if (before === undefined) earlier.set(reference, [row])
      else before.push(row)
    }
  }
  return repeated.size === 0 ? rows : rows.filter((row) => !repeated.has(row))
}

function referenceOf(row: unknown): string | null {
  if (typeof row !== 'object' || row === null || !('entry_reference' in row)) return null
  const { entry_reference: reference } = row
  return typeof reference === 'string' && reference !== '' ? reference : null
}

/** Without the id for a call about its details, which may be new in each answer. */
const toContent = (row: unknown): string =>
  JSON.stringify(row, (key, value: unknown) => (key === 'transaction_id' ? null : value))

/**
 * The rows of a walk, each once. Where a bank's key is a place in its list, a row that arrives while pages
 * are read moves the others on, and the next page begins with rows of the one before
 * (docs/providers/enable-banking.md, Transactions). Pure.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Some milliseconds of work. */
const rowsPerTurn = 500

/**
 * A row of a later page that is equal to one of an earlier page, with the same `entry_reference`, is that
 * row. Where a bank gives one reference to two rows of a page, or to rows that differ, its references tell
 * no rows apart, and every row stays: two equal payments may stand on both sides of the end of a page.
 * Other work has its turns meanwhile.
 */
export async function joinPages(
  pages: readonly (readonly unknown[])[],
): Promise<readonly unknown[]> {
  const earlier = new Map<string, unknown>()
  const rows: unknown[] = []
  let seen = 0
  for (const page of pages) {
    const own = new Set<string>()
    for (const row of page) {
      seen += 1
      if (seen % rowsPerTurn === 0) await nextTurn()
      const reference = referenceOf(row)
      if (reference !== null) {
        if (own.has(reference)) return pages.flat()
        own.add(reference)
        if (earlier.has(reference)) {
          if (toContent(row) !== toContent(earlier.get(reference))) return pages.flat()
          continue
        }
        earlier.set(reference, row)
      }
      rows.push(row)
    }
  }
  return rows
}

function referenceOf(row: unknown): string | null {
  if (typeof row !== 'object' || row === null || !('entry_reference' in row)) return null
  const { entry_reference: reference } = row
  return typeof reference === 'string' && reference !== '' ? reference : null
}

/** Without the id for a call about its details, which may be new in each answer. */
const toContent = (row: unknown): string =>
  JSON.stringify(row, (key, value: unknown) => (key === 'transaction_id' ? null : value))

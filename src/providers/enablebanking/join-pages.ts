/**
 * The rows of a walk, each once. Where a bank's key is a place in its list, a row that arrives while pages
 * are read moves the others on, and the next page begins with rows of the one before
 * (docs/providers/enable-banking.md, Transactions). Pure.
 */
import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Some milliseconds of work. */
const rowsPerTurn = 500

/** What earlier pages had under one reference. */
interface Earlier {
  readonly first: unknown
  /** Hashes of all contents; null until a later page has the reference too, which few do. */
  contents: Set<string> | null
}

/**
 * A row of a later page that is equal to one of an earlier page, with the same `entry_reference`, is that
 * row. On one page both stay; and where a bank gives one reference to two rows of a page, it tells no rows
 * apart, and all stay. Other work has its turns meanwhile.
 */
export async function joinPages(
  pages: readonly (readonly unknown[])[],
): Promise<readonly unknown[]> {
  const earlier = new Map<string, Earlier>()
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
        if (isRepeated(earlier, reference, row)) continue
      }
      rows.push(row)
    }
  }
  return rows
}

/** Whether an earlier page had this row; else it is noted for later ones. */
function isRepeated(earlier: Map<string, Earlier>, reference: string, row: unknown): boolean {
  const before = earlier.get(reference)
  if (before === undefined) {
    earlier.set(reference, { first: row, contents: null })
    return false
  }
  before.contents ??= new Set([hashContent(before.first)])
  const content = hashContent(row)
  if (before.contents.has(content)) return true
  before.contents.add(content)
  return false
}

function referenceOf(row: unknown): string | null {
  if (typeof row !== 'object' || row === null || !('entry_reference' in row)) return null
  const { entry_reference: reference } = row
  return typeof reference === 'string' && reference !== '' ? reference : null
}

/** Without the id for a call about its details, which may be new in each answer. */
const hashContent = (row: unknown): string => {
  const content = JSON.stringify(row, (key, value: unknown) =>
    key === 'transaction_id' ? null : value,
  )
  return hash('sha256', content, 'base64url')
}

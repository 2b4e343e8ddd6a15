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
 * row; so is one that was pending there and is booked now. Where a bank gives one reference to two rows of a
 * page, or to rows that differ otherwise, its references tell no rows apart, and every row stays: two equal
 * payments may stand on both sides of the end of a page. Other work has its turns meanwhile.
 */
export async function joinPages(
  pages: readonly (readonly unknown[])[],
): Promise<readonly unknown[]> {
  const places = new Map<string, number>()
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
        const place = places.get(reference)
        if (place !== undefined) {
          if (toContent(row) !== toContent(rows[place])) {
            if (!isSettled(rows[place], row)) return pages.flat()
            rows[place] = row
          }
          continue
        }
        places.set(reference, rows.length)
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

/** What a row is made of, as far as the bank tells it. */
function toTold(row: unknown): Map<string, string> {
  const told = Object.entries(typeof row === 'object' && row !== null ? row : {})
    .filter(([name, value]) => name !== 'transaction_id' && value !== null && value !== undefined)
    .map(([name, value]): [string, string] => [name, JSON.stringify(value)])
  return new Map(told)
}

/**
 * Whether a pending row was booked between the pages. That fills in days and other fields, but changes none
 * that was told. They must share a day: a bank may give one reference to every payment of a mandate.
 */
function isSettled(earlier: unknown, later: unknown): boolean {
  const [pending, booked] = [toTold(earlier), toTold(later)]
  const isPending = ['"PDNG"', '"HOLD"'].includes(pending.get('status') ?? '')
  if (!isPending || booked.get('status') !== '"BOOK"') return false
  const changed = [...pending].filter(([name, value]) => booked.get(name) !== value)
  return (
    changed.every(([name]) => name === 'status') &&
    ['booking_date', 'value_date', 'transaction_date'].some((day) => pending.has(day))
  )
}

/** The order of a user's accounts, the same on every store: by name as the root collation has it, then by id (reading R16b). */
import type { AccountRow } from '#store/ports/accounts.ts'

const byName = new Intl.Collator('und')

export function sortAccounts(rows: readonly AccountRow[]): readonly AccountRow[] {
  return rows.toSorted(
    (left, right) => byName.compare(left.name, right.name) || (left.id < right.id ? -1 : 1),
  )
}

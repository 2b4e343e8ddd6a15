/** What the view of one account is made of. */
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { MoneyReading } from './read-money.ts'
import type { Days, RowFilter } from './row-filter.ts'

export interface MoneyViewOptions {
  readonly account: AccountRow
  readonly row: ConnectionRow
  readonly category: MoneyReading['category']
  readonly filter: RowFilter
  readonly days: Days
  readonly today: Temporal.PlainDate
  /** Null: nothing was read, because nobody has asked for it. */
  readonly reading: MoneyReading | null
  /** The origin of the API. */
  readonly base: string
}

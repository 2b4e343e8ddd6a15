/** Months of local days, by which the ledger is kept: `year * 12 + month - 1`. */
import type { MonthNumber } from '#store/ports/ledgers.ts'

/** The month of a day or date-time as text that begins with `YYYY-MM`. @throws RangeError for any other text. */
export function monthOf(day: string): MonthNumber {
  const match = /^(\d{4})-(0[1-9]|1[0-2])(?:-|$)/.exec(day)
  if (match === null) throw new RangeError('a day does not begin with year and month')
  return Number(match[1]) * 12 + Number(match[2]) - 1
}

/** The first day of a month, as `YYYY-MM-DD`. */
export function firstDayOf(month: MonthNumber): string {
  const year = String(Math.floor(month / 12)).padStart(4, '0')
  return `${year}-${String((month % 12) + 1).padStart(2, '0')}-01`
}

/** Months of local days, by which the ledger is kept: `year * 12 + month - 1`. */
import type { MonthNumber } from '#store/ports/ledgers.ts'

/**
 * The month of a day or date-time as text that begins with `YYYY-MM`. @throws RangeError for any other text.
 */
export function monthOf(day: string): MonthNumber {
  const year = readDigits(day, 0, 4)
  const month = readDigits(day, 5, 7)
  const isWhole = day.length === 7 || day.charAt(7) === '-'
  if (day.charAt(4) !== '-' || !isWhole || !(month >= 1 && month <= 12) || Number.isNaN(year)) {
    throw new RangeError('a day does not begin with year and month')
  }
  return year * 12 + month - 1
}

/**
 * NaN where there is anything but digits. A regular expression would take a tenth of what a known row takes.
 */
function readDigits(text: string, from: number, to: number): number {
  let value = 0
  for (let index = from; index < to; index += 1) {
    const digit = text.charCodeAt(index) - 48
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
  }
  return value
}

/** The first day of a month, as `YYYY-MM-DD`. */
export function firstDayOf(month: MonthNumber): string {
  const year = String(Math.floor(month / 12)).padStart(4, '0')
  return `${year}-${String((month % 12) + 1).padStart(2, '0')}-01`
}

/** Numbers and days of the usage page as text. */
import { type Html, html } from '../html.ts'

const numbers = new Intl.NumberFormat('en')

/** A whole number with separators, e.g. `1,234`. */
export function toText(value: number): string {
  return numbers.format(value)
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** @param day `YYYY-MM-DD`. */
export function toDayText(day: string): string {
  const { day: number, month, year } = Temporal.PlainDate.from(day)
  return `${number} ${months[month - 1]} ${year}`
}

export function renderUsageDay(day: string): Html {
  return html`<time datetime="${day}">${toDayText(day)}</time>`
}

/** A time until something, rounded up: `40 seconds`, `12 minutes`. */
export function toWait(seconds: number): string {
  if (seconds < 120) return seconds === 1 ? '1 second' : `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

/** Numbers, days, operations and readers of the usage page as text. */
import { agentOperations, operations } from '#contract/operations.ts'
import type { UsageDoor, UsageOperation } from '#contract/usage.ts'
import type { NamedReader } from '#usage/readers.ts'
import { type Html, html } from '../html.ts'
import { months } from '../moments.ts'

const numbers = new Intl.NumberFormat('en')

/** A whole number with separators, e.g. `1,234`. */
export function toText(value: number): string {
  return numbers.format(value)
}

/** @param day `YYYY-MM-DD`. */
export function toDayText(day: string): string {
  const { day: number, month, year } = Temporal.PlainDate.from(day)
  return `${number} ${months[month - 1]} ${year}`
}

export function renderUsageDay(day: string): Html {
  return html`<time datetime="${day}">${toDayText(day)}</time>`
}

/** What was asked for, as its title in the reference. */
export function nameOperation(operation: UsageOperation, door: UsageDoor): string {
  if (door === 'simplefin') return 'Accounts with their transactions'
  const known = [...operations, ...agentOperations].find(({ name }) => name === operation)
  return known?.title ?? 'Other messages: connect, list tools'
}

/** What kind of reader it is, in words. */
export const readerWords: Readonly<Record<NamedReader['kind'], string>> = {
  key: 'key',
  agent: 'agent',
  program: 'SimpleFIN program',
  dashboard: 'You, on these pages',
  ended: 'Removed keys and agents',
  before: 'Earlier requests',
}

/** A time until something, rounded up: `40 seconds`, `12 minutes`. */
export function toWait(seconds: number): string {
  if (seconds < 120) return seconds === 1 ? '1 second' : `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

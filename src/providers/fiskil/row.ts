/** One row of a Fiskil list and its optional texts. A field of the wrong type makes it unreadable (R23). */
import { malformed } from './failures.ts'
import { isFilled } from './map.ts'

export type Row = Readonly<Record<string, unknown>>

/** An optional text: null when absent or blank. Any other type is unreadable, including a number. */
export function readText(value: unknown, index: number, name: string): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw unreadable(index, name)
  return isFilled(value) ? value : null
}

/** The error for a field of a transaction that cannot be read; it names the place, never the value. */
export function unreadable(index: number, field: string): Error {
  return malformed(`transactions[${index}].${field} cannot be read`)
}

/**
 * `Retry-After` in seconds (RFC 9110 §10.2.3): what a server that we called asks of us, and what we ask of a
 * client. Pure. Other headers are specific to a provider; the caller decides what to do with the wait.
 */
import type { Millis } from './time.ts'

/** Longer waits are shortened to a day. */
export const maxRetryAfterSeconds = 86_400

/** Rounded up, so that nobody comes back too early; at least one. */
export function toRetrySeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** The weekday is not needed. RFC 9110 §5.6.7 requires reading all three forms, and sending the first. */
const dateForms: readonly RegExp[] = [
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/,
]

/**
 * Whole seconds to wait by the header `Retry-After`, from 1 to `maxRetryAfterSeconds`; null when it is absent
 * or neither a number of seconds nor a date. `now`: what a date is compared with.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: Millis,
): number | null {
  const value = headers['retry-after']
  const text = (Array.isArray(value) ? value[0] : value)?.trim() ?? ''
  if (/^\d+$/.test(text)) return bound(Number(text))
  const at = parseHttpDate(text)
  return at === null ? null : bound(Math.ceil((at - now) / 1000))
}

function bound(seconds: number): number {
  return Math.min(Math.max(seconds, 1), maxRetryAfterSeconds)
}

function parseHttpDate(text: string): Millis | null {
  for (const form of dateForms) {
    const { day, month, year, time } = form.exec(text)?.groups ?? {}
    if (day === undefined) continue
    // The third form has no zone; it means GMT too.
    const at = Date.parse(`${day.trim()} ${month} ${year} ${time} GMT`)
    return Number.isNaN(at) ? null : at
  }
  return null
}

/**
 * How long a provider asks us to wait: its `Retry-After` in seconds (RFC 9110 §10.2.3; reading R20). Pure. What stands
 * in other headers is each provider's own habit; what to do with the wait is the caller's business.
 */
import type { UpstreamResponse } from './upstream.ts'

/** Reading R20: when the provider names no time that can be read. */
export const defaultRetryAfterSeconds = 30
/** A provider that names a longer wait is asked again after a day all the same. */
export const maxRetryAfterSeconds = 86_400

/**
 * The weekday is told but never needed. RFC 9110 §5.6.7 has all three forms of a date read, though only the first may
 * be written.
 */
const dateForms: readonly RegExp[] = [
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/,
]

/**
 * Whole seconds to wait by the header `Retry-After`, from 1 to `maxRetryAfterSeconds`; null when it is absent or
 * neither a count of seconds nor a date. `nowMs`: milliseconds since the epoch, which a date is held against.
 */
export function readRetryAfter(headers: UpstreamResponse['headers'], nowMs: number): number | null {
  const value = headers['retry-after']
  const text = (Array.isArray(value) ? value[0] : value)?.trim() ?? ''
  if (/^\d+$/.test(text)) return bound(Number(text))
  const at = parseHttpDate(text)
  return at === null ? null : bound(Math.ceil((at - nowMs) / 1000))
}

function bound(seconds: number): number {
  return Math.min(Math.max(seconds, 1), maxRetryAfterSeconds)
}

/** Milliseconds since the epoch, or null. */
function parseHttpDate(text: string): number | null {
  for (const form of dateForms) {
    const { day, month, year, time } = form.exec(text)?.groups ?? {}
    if (day === undefined) continue
    // The third form names no zone, and means the same one.
    const at = Date.parse(`${day.trim()} ${month} ${year} ${time} GMT`)
    return Number.isNaN(at) ? null : at
  }
  return null
}

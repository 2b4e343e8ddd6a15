/** Reads the provider's own clock from its answer, for the doctor, which compares it with ours. */
import type { Millis } from '#kernel/time.ts'
import type { UpstreamResponse } from './upstream.ts'

/** The `Date` header (RFC 9110 §6.6.1); null when it is absent or not a date. */
export function readServerTime(headers: UpstreamResponse['headers']): Millis | null {
  const { date } = headers
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? null : at
}

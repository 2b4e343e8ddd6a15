/**
 * What a provider's answer tells of the provider's own clock: for the doctor, who compares it with ours. It judges
 * nothing.
 */
import type { UpstreamResponse } from './upstream.ts'

/** The `Date` header (RFC 9110 §6.6.1) in milliseconds since the epoch; null when it is absent or no date. */
export function readServerTime(headers: UpstreamResponse['headers']): number | null {
  const { date } = headers
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? null : at
}

/** The only file of the command that reads the environment of its process. */
import { isZone } from '#kernel/time.ts'

export const environment: Readonly<Record<string, string | undefined>> = process.env

/**
 * The zone of this machine by its IANA name; null: `TZ` is something else, such as `NZST-12NZDT`, of which
 * the runtime would make UTC.
 */
export function readMachineZone(): string | null {
  const named = process.env.TZ?.trim() ?? ''
  // Empty counts as unset; the runtime would know no zone at all, and looks again once it is unset.
  if (named === '') delete process.env.TZ
  const zone = named === '' ? Temporal.Now.timeZoneId() : named.replace(/^:/, '')
  return isZone(zone) ? zone : null
}

/**
 * The time of a row that has only a day (reading R16a): the first instant of that day in the user's zone. Without a
 * requested upper bound, it counts once the day has started in the zone where it was written. For a user further west
 * that is hours earlier, and today's rows must not be hidden until the user's own day starts.
 */
import { getZone, type Micros, type Zone } from '#kernel/time.ts'
import type { RowsQuery } from './port.ts'

/** A plain date has no zone, so the zone in which days start first applies. */
export const earliestZone: Zone = getZone('Etc/GMT-14')

/** `written`: the zone in which the provider wrote the day. */
export function timeOfDay(
  day: string,
  written: Zone,
  { zone, window }: Pick<RowsQuery, 'zone' | 'window'>,
): Micros {
  const time = zone.startOfDay(day)
  const { to, isOpen } = window
  if (isOpen !== true || to === null) return time
  const begins = written.startOfDay(day)
  return begins <= to ? Math.min(time, to) : Math.max(time, begins)
}

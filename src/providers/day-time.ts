/**
 * The time of a row of which perhaps only a day is known (reading R16a). Of one that has only a day it is the
 * first instant of that day in the user's zone. Without a requested upper bound, it counts once the day has
 * started in the zone where it was written. For a user further west that is hours earlier, and today's rows
 * must not be hidden until the user's own day starts.
 */
import { getZone, type Micros, toIso, toMillis, type Zone } from '#kernel/time.ts'
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
  if (begins <= to) return time < to ? time : to
  return time < begins ? begins : time
}

export const microsPerDay = 86_400_000_000

/**
 * The time of a row with an instant. Some institutions write a day as midnight UTC, which further east is
 * still to come for half of that day: without a requested upper bound such a row counts once its day has
 * begun in the zone where it was written.
 */
export function timeOfInstant(
  instant: Micros,
  written: Zone,
  { to, isOpen }: RowsQuery['window'],
): Micros {
  if (isOpen !== true || to === null || instant <= to || instant % microsPerDay !== 0)
    return instant
  // No day begins anywhere more than a day before it begins in UTC.
  if (instant - to > microsPerDay) return instant
  return written.startOfDay(toIso(toMillis(instant)).slice(0, 10)) <= to ? to : instant
}

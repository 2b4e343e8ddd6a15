/**
 * The instant that stands for a day in programs that know only instants: halfway between noon in the person's
 * zone and noon in UTC. Both clocks show that day then, with at least five hours to spare, for zones from -11
 * to +14 hours.
 */
import { hourMs } from './time.ts'

const halfDayMs = 12 * hourMs

/** As `toMidday`, for many rows: each day is reckoned once. */
export function makeMidday(zone: string): (day: string) => number {
  const known = new Map<string, number>()
  return (day) => {
    const found = known.get(day)
    if (found !== undefined) return found
    const midday = toMidday(day, zone)
    known.set(day, midday)
    return midday
  }
}

/** @param day `YYYY-MM-DD`. @returns epoch seconds. */
export function toMidday(day: string, zone: string): number {
  const date = Temporal.PlainDate.from(day)
  const noon = date.toZonedDateTime({ timeZone: zone, plainTime: '12:00' })
  const startMs = date.toZonedDateTime('UTC').epochMilliseconds
  const [utcMs, localMs] = [startMs + halfDayMs, noon.epochMilliseconds]
  return Math.floor((utcMs + localMs) / 2000)
}

/**
 * The date rule of Akahu (reading R16a): banks that know only the day send midnight in New Zealand as UTC.
 * Such a time means that New Zealand day in whatever zone the user lives; every other time is an instant.
 * Card issuers send midnight UTC, which is shown as the instant it is and counts from the beginning of that
 * day in New Zealand.
 */
import { getZone, type Micros, parseInstant, toMicros } from '#kernel/time.ts'
import { timeOfDay, timeOfInstant } from '../day-time.ts'
import type { RowsQuery } from '../port.ts'

const newZealand = getZone('Pacific/Auckland')
/** Every offset of New Zealand since 1946 is a multiple of half an hour. */
const halfHourMicros = 1_800_000_000
/** One day inside the range of four-digit years, so that the day can be written in every zone. */
const earliest = toMicros(-62_135_510_400_000)
const latest = toMicros(253_402_128_000_000)

/** The user's zone, and the window that is read. */
type Reader = Pick<RowsQuery, 'zone' | 'window'>

/** The meaning of a row's `date` for one user. */
export interface RowDate {
  /** The instant compared with `from` and `to` (see `day-time.ts` when only the day is known). */
  readonly time: Micros
  /** The day that is shown. */
  readonly day: string
}

/** Parses `date` fields for one user; null for text that is not an instant with a day in every zone. */
export function makeDateReader(reader: Reader): (date: unknown) => RowDate | null {
  // Neighbouring rows mostly have the same date, and each date is parsed twice, for `head` and for `map`.
  let lastText = ''
  let lastDate: RowDate | null = null

  return (date) => {
    if (typeof date !== 'string') return null
    if (date === lastText) return lastDate
    lastText = date
    lastDate = readDate(date, reader)
    return lastDate
  }
}

function readDate(text: string, reader: Reader): RowDate | null {
  const stamp = parseInstant(text)
  if (stamp === null || stamp < earliest || stamp > latest) return null
  const day = dayMeant(stamp)
  return day === null
    ? { time: timeOfInstant(stamp, newZealand, reader.window), day: reader.zone.dayOf(stamp) }
    : { time: timeOfDay(day, newZealand, reader), day }
}

/** True for a stamp that means a day and no time. */
export function isDayStamp(text: string): boolean {
  const stamp = parseInstant(text)
  return stamp !== null && stamp >= earliest && stamp <= latest && dayMeant(stamp) !== null
}

/** The New Zealand day whose first instant this is, or null. */
function dayMeant(stamp: Micros): string | null {
  if (stamp % halfHourMicros !== 0) return null
  const day = newZealand.dayOf(stamp)
  return newZealand.startOfDay(day) === stamp ? day : null
}

/**
 * The date rule of Akahu (reading R16a): banks that know only the day write midnight in New Zealand as UTC, so such a
 * stamp means that New Zealand day wherever the user lives; every other stamp is an instant.
 */
import { getZone, type Micros, parseInstant, type Zone } from '#kernel/time.ts'

const newZealand = getZone('Pacific/Auckland')
/** Every offset of New Zealand since 1946 is a multiple of half an hour. */
const halfHour: Micros = 1_800_000_000
/** One day away from the ends of what four-digit years can say, so that every zone can still name the day. */
const earliest: Micros = -62_135_510_400_000_000
const latest: Micros = 253_402_128_000_000_000

/** Reads a `date` of Akahu, or null when it is no instant that every zone can name. */
export function readStamp(text: unknown): Micros | null {
  const instant = typeof text === 'string' ? parseInstant(text) : null
  return instant !== null && instant >= earliest && instant <= latest ? instant : null
}

/** The New Zealand day that a stamp of exactly its first instant stands for, else null. */
export function dayMeant(stamp: Micros): string | null {
  if (stamp % halfHour !== 0) return null
  const day = newZealand.dayOf(stamp)
  return newZealand.startOfDay(day) === stamp ? day : null
}

/** The day that is shown to a user of this zone. */
export function shownDay(stamp: Micros, zone: Zone): string {
  return dayMeant(stamp) ?? zone.dayOf(stamp)
}

/** When a row counts for `from` and `to`: a day-only one at the first instant of its day in the user's zone. */
export function countsAt(stamp: Micros, zone: Zone): Micros {
  const day = dayMeant(stamp)
  return day === null ? stamp : zone.startOfDay(day)
}

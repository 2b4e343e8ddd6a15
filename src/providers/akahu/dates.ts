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

/** What the `date` of a row means to one user. */
export interface RowDate {
  /** When it counts for `from` and `to`: a day-only one at the first instant of its day in the user's zone. */
  readonly time: Micros
  /** The day that is shown. */
  readonly day: string
}

/** Reads `date` fields for a user of this zone; null for what is no instant that every zone can name. */
export function makeDateReader(zone: Zone): (date: unknown) => RowDate | null {
  // Rows of one day mostly carry the same stamp and stand together, and each is read for its head and for its map.
  let lastText = ''
  let lastDate: RowDate | null = null

  return (date) => {
    if (typeof date !== 'string') return null
    if (date === lastText) return lastDate
    lastText = date
    lastDate = readDate(date, zone)
    return lastDate
  }
}

function readDate(text: string, zone: Zone): RowDate | null {
  const stamp = parseInstant(text)
  if (stamp === null || stamp < earliest || stamp > latest) return null
  const day = dayMeant(stamp)
  return day === null
    ? { time: stamp, day: zone.dayOf(stamp) }
    : { time: zone.startOfDay(day), day }
}

/** The New Zealand day that a stamp of exactly its first instant stands for, else null. */
function dayMeant(stamp: Micros): string | null {
  if (stamp % halfHour !== 0) return null
  const day = newZealand.dayOf(stamp)
  return newZealand.startOfDay(day) === stamp ? day : null
}

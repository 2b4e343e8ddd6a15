/**
 * Time: instants as whole microseconds since the epoch (exact in a double until the year 2255), days as `YYYY-MM-DD`
 * text, and the zone they are seen in always named (reading R16a). Temporal builds the zone tables; the per-row path
 * is a comparison and an addition, since a formatter per row would cost fifty times as much.
 */

/** The only source of the present moment; tests hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Whole microseconds since the epoch. */
export type Micros = number

export const microsPerMs = 1000
const msPerDay = 86_400_000

const instantPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):?(\d{2}))$/
const dayPattern = /^(\d{4})-(\d{2})-(\d{2})$/

/**
 * Reads an ISO 8601 / RFC 3339 instant: seconds required, fraction optional (digits finer than a microsecond are cut),
 * `Z` or an offset required; a blank may stand for `T` (SnapTrade). Null for anything else, unreal days included.
 */
export function parseInstant(text: string): Micros | null {
  const match = instantPattern.exec(text)
  if (match === null) return null
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour, offsetMinute] =
    match
  if (!isRealDay(Number(year), Number(month), Number(day))) return null
  // RFC 3339 §5.7 admits a leap second: it is read as the first instant of the next minute.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return null
  const ms = utcMs(
    Number(year),
    Number(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  )
  const offset =
    (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000 * (sign === '-' ? -1 : 1)
  return (ms - offset) * microsPerMs + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** A real calendar day as `YYYY-MM-DD`, or null. */
export function parseDay(text: string): string | null {
  const match = dayPattern.exec(text)
  if (match === null) return null
  return isRealDay(Number(match[1]), Number(match[2]), Number(match[3])) ? text : null
}

function isRealDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const length =
    month === 2
      ? leap
        ? 29
        : 28
      : month === 4 || month === 6 || month === 9 || month === 11
        ? 30
        : 31
  return day <= length
}

/** Date.UTC reads years below 100 as 19xx; the whole range of four digits is wanted. */
function utcMs(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number {
  const ms = Date.UTC(2000 + (year % 400), month - 1, day, hour, minute, second)
  return ms + Math.floor(year / 400 - 5) * 400 * 365.2425 * msPerDay
}

/** An instant as ISO 8601 UTC text with milliseconds: the form of every timestamp of our own. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString()
}

/** One time zone with its table of offsets; made once per zone by `getZone`. */
export interface Zone {
  readonly id: string
  /** The day on which an instant falls here. */
  dayOf(instant: Micros): string
  /** The first instant of a day here (not always midnight: a change to summer time may skip it). */
  startOfDay(day: string): Micros
  /** The last microsecond of a day here. */
  endOfDay(day: string): Micros
}

const zones = new Map<string, Zone>()
const maxZones = 1024

/** The zone of an IANA name; throws RangeError for an unknown one (see `isZone`). */
export function getZone(id: string): Zone {
  const known = zones.get(id)
  if (known !== undefined) return known
  if (zones.size >= maxZones) zones.clear()
  const zone = makeZone(id)
  zones.set(id, zone)
  return zone
}

/** True for an IANA zone name that this runtime knows; bare offsets like `+10:00` are refused. */
export function isZone(id: string): boolean {
  if (!/^[A-Za-z]/.test(id)) return false
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(id)
    return true
  } catch {
    return false
  }
}

function makeZone(id: string): Zone {
  // The stretch of constant offset that the last look-up fell into; bank rows come close together.
  let from = Number.POSITIVE_INFINITY
  let until = Number.NEGATIVE_INFINITY
  let offsetMs = 0
  const days = new Map<number, string>()
  const starts = new Map<string, Micros>()

  function learn(ms: number): void {
    const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(id)
    offsetMs = at.offsetNanoseconds / 1_000_000
    until = at.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY
    // One step ahead, since `previous` is strictly before the instant it starts from.
    const before = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous')
    from = before?.epochMilliseconds ?? Number.NEGATIVE_INFINITY
  }

  function dayText(number: number): string {
    const known = days.get(number)
    if (known !== undefined) return known
    if (days.size >= 8192) days.clear()
    const text = new Date(number * msPerDay).toISOString().slice(0, 10)
    days.set(number, text)
    return text
  }

  function startOfDay(day: string): Micros {
    const known = starts.get(day)
    if (known !== undefined) return known
    if (starts.size >= 8192) starts.clear()
    const start =
      Temporal.PlainDate.from(day).toZonedDateTime(id).startOfDay().epochMilliseconds * microsPerMs
    starts.set(day, start)
    return start
  }

  return {
    id,
    dayOf(instant) {
      const ms = Math.floor(instant / microsPerMs)
      if (ms < from || ms >= until) learn(ms)
      return dayText(Math.floor((ms + offsetMs) / msPerDay))
    },
    startOfDay,
    endOfDay: (day) => startOfDay(addDays(day, 1)) - 1,
  }
}

/** The day `days` later (or earlier) in the calendar. */
export function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString()
}

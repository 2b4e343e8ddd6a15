/**
 * Time: instants as whole microseconds since the epoch (exact in a double until the year 2255), days as
 * `YYYY-MM-DD` text, always in a named zone (reading R16a). Temporal builds a table of offsets per zone; per
 * row only a comparison and an addition remain, because a formatter per row would cost fifty times as much.
 */

declare const unit: unique symbol

/**
 * An instant in milliseconds since the epoch. A plain number fits, so that arithmetic stays readable;
 * `Micros` does not. Durations are plain numbers whose names end in their unit.
 */
export type Millis = number & { readonly [unit]?: 'ms' }

/** An instant in whole microseconds since the epoch. A plain number does not fit. */
export type Micros = number & { readonly [unit]: 'µs' }

const microsPerMs = 1000

export const toMicros = (ms: Millis): Micros => (ms * microsPerMs) as Micros
/** The millisecond in which the instant is. */
export const toMillis = (instant: Micros): Millis => Math.floor(instant / microsPerMs)
export const addMicros = (instant: Micros, micros: number): Micros => (instant + micros) as Micros

/** The only source of the current time; tests hold it still. */
export interface Clock {
  now(): Millis
}

export const systemClock: Clock = { now: () => Date.now() }

/** The clocks of processes may differ by this much. */
export const clockDriftMs = 300_000

export const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const

const dayPattern = /^(\d{4})-(\d{2})-(\d{2})$/

/**
 * Reads an ISO 8601 / RFC 3339 instant. Seconds are required, a fraction is optional (digits finer than a
 * microsecond are cut), `Z` or an offset is required; a blank may replace `T` (SnapTrade). Null for anything
 * else, including days that do not exist. It reads character by character because it runs for every row of a
 * page, and a pattern costs several times as much.
 */
export function parseInstant(text: string): Micros | null {
  if (text.length < shortest || !hasDividers(text)) return null
  const year = pair(text, 0) * 100 + pair(text, 2)
  const month = pair(text, 5)
  const day = pair(text, 8)
  const hour = pair(text, 11)
  const minute = pair(text, 14)
  const second = pair(text, 17)
  if (year < 0 || !isRealDay(year, month, day)) return null
  // RFC 3339 §5.7 allows a leap second: it is read as the first instant of the next minute.
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return null
  const isWhole = text.charCodeAt(fractionAt - 1) !== point
  const zoneAt = isWhole ? fractionAt - 1 : endOfDigits(text, fractionAt)
  if (zoneAt === fractionAt) return null
  const offset = offsetSeconds(text, zoneAt)
  if (offset === null) return null
  const seconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  return addMicros(toMicros((seconds - offset) * 1000), fractionMicros(text, zoneAt))
}

/** Seconds and a zone are required. */
const shortest = 20
/** Behind the point after the seconds. */
const fractionAt = 20

const point = 46
const minus = 45
const plus = 43
const colon = 58

// Behind the end of a text a character code is NaN, which is no digit and no divider.

/** Checks the separators of `YYYY-MM-DDTHH:MM:SS`: `T` in either case or a blank. */
function hasDividers(text: string): boolean {
  const divider = text.charCodeAt(10)
  return (
    (divider === 84 || divider === 116 || divider === 32) &&
    text.charCodeAt(4) === minus &&
    text.charCodeAt(7) === minus &&
    text.charCodeAt(13) === colon &&
    text.charCodeAt(16) === colon
  )
}

/** Two digits as a number; for anything else a number so far below zero that every sum stays there. */
function pair(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1_000_000
}

function endOfDigits(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at += 1
  return at
}

/** The digits up to the zone as microseconds; digits after the sixth are cut. */
function fractionMicros(text: string, zoneAt: number): number {
  let micros = 0
  let unit = 100_000
  for (let at = fractionAt; at < zoneAt && unit >= 1; at += 1) {
    micros += (text.charCodeAt(at) - 48) * unit
    unit /= 10
  }
  return micros
}

/** `Z`, `+HH:MM` or `+HHMM` up to the end; null for anything else. */
function offsetSeconds(text: string, at: number): number | null {
  const sign = text.charCodeAt(at)
  if (sign === 90 || sign === 122) return text.length === at + 1 ? 0 : null
  if (sign !== plus && sign !== minus) return null
  const minutesAt = text.charCodeAt(at + 3) === colon ? at + 4 : at + 3
  if (text.length !== minutesAt + 2) return null
  const hours = pair(text, at + 1)
  const minutes = pair(text, minutesAt)
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null
  return (hours * 3600 + minutes * 60) * (sign === minus ? -1 : 1)
}

/** Days since 1970-01-01 (proleptic Gregorian); years are counted from March: the leap day is last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468
}

/** The text if it is an existing calendar day as `YYYY-MM-DD`, or null. */
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

/** An instant as ISO 8601 UTC text with milliseconds, the form of all our timestamps. */
export function toIso(ms: Millis): string {
  return new Date(ms).toISOString()
}

/** As `toIso`; null where there is no instant. */
export const toIsoOrNull = (ms: Millis | null): string | null => (ms === null ? null : toIso(ms))

/** One time zone with its table of offsets; `getZone` makes it once per zone. */
export interface Zone {
  readonly id: string
  dayOf(instant: Micros): string
  /** The first instant of a day in this zone (not always midnight: daylight saving may skip it). */
  startOfDay(day: string): Micros
  /** The last microsecond of a day in this zone. */
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

/** True for an IANA zone name that this runtime knows; an offset like `+10:00` is refused. */
export function isZone(id: string): boolean {
  if (!/^[A-Za-z]/.test(id)) return false
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(id)
    return true
  } catch {
    return false
  }
}

/**
 * The stored name of a zone as far as this runtime knows it, else null: its data of zones may be older than
 * that of the runtime which accepted the name, and one damaged row must not stop anything.
 */
export function knownZone(stored: string | null): string | null {
  return stored !== null && (zones.has(stored) || isZone(stored)) ? stored : null
}

function makeZone(id: string): Zone {
  // The range of constant offset around the last look-up; rows of a bank are close together in time.
  let from = 0
  let until = 0
  let offsetMs = 0
  const days = new Map<number, string>()
  const starts = new Map<string, Micros>()

  function learn(ms: number): void {
    const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(id)
    offsetMs = at.offsetNanoseconds / 1_000_000
    until = at.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY
    // One millisecond later, because `previous` searches strictly before its start.
    const before = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous')
    from = before?.epochMilliseconds ?? Number.NEGATIVE_INFINITY
  }

  function dayText(number: number): string {
    const known = days.get(number)
    if (known !== undefined) return known
    if (days.size >= 8192) days.clear()
    const text = new Date(number * dayMs).toISOString().slice(0, 10)
    days.set(number, text)
    return text
  }

  function startOfDay(day: string): Micros {
    const known = starts.get(day)
    if (known !== undefined) return known
    if (starts.size >= 8192) starts.clear()
    const first = Temporal.PlainDate.from(day).toZonedDateTime(id).startOfDay()
    const start = toMicros(first.epochMilliseconds)
    starts.set(day, start)
    return start
  }

  // Throws here for an unknown zone, rather than at the first row.
  learn(0)
  return {
    id,
    dayOf(instant) {
      const ms = toMillis(instant)
      if (ms < from || ms >= until) learn(ms)
      return dayText(Math.floor((ms + offsetMs) / dayMs))
    },
    startOfDay,
    endOfDay: (day) => addMicros(startOfDay(addDays(day, 1)), -1),
  }
}

/** The day `days` later (or earlier) in the calendar. */
export function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString()
}

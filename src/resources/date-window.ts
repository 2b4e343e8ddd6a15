/**
 * `from` and `to` of a request, read in the user's zone: format, then order, then age (readings R3 step 9,
 * R14, R15). It refuses anything but existing days and instants, and returns inclusive bounds in
 * microseconds.
 */
import { apiError } from '#contract/errors.ts'
import {
  type Micros,
  type Millis,
  parseDay,
  parseInstant,
  toMicros,
  toMillis,
  type Zone,
} from '#kernel/time.ts'
import type { TimeWindow } from '#providers/port.ts'

export interface DateParameters {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface DateRules {
  readonly zone: Zone
  readonly now: Millis
  /** The default `from`, in days before today (or before the day of an earlier `to`); null: no bound. */
  readonly defaultDays: number | null
  /** The largest age of `from` in calendar years; null: unlimited. */
  readonly maxYears: number | null
}

/** A bound as given: a whole day of the user's zone, or one instant. */
export type Moment =
  | { readonly kind: 'day'; readonly day: string }
  | { readonly kind: 'instant'; readonly instant: Micros }

const formatRule =
  'Must be YYYY-MM-DD or RFC3339 with timezone (Z or +HH:MM), e.g. 2026-11-20 or 2026-11-20T09:00:00+11:00'

/** Reads both bounds; throws invalid_dates, invalid_date_range or from_too_old. No `to`: now, or no bound. */
export function readDateWindow(parameters: DateParameters, rules: DateRules): TimeWindow {
  const from = parameters.from === undefined ? null : readBound(parameters.from)
  const to = parameters.to === undefined ? null : readBound(parameters.to)
  const details: string[] = []
  if (from === 'bad') details.push(`from: ${formatRule}`)
  if (to === 'bad') details.push(`to: ${formatRule}`)
  if (from === 'bad' || to === 'bad') throw apiError('invalid_dates', { details })

  const now = toMicros(rules.now)
  const upper = to === null ? now : to.kind === 'day' ? rules.zone.endOfDay(to.day) : to.instant
  const first = from ?? defaultFrom(upper < now ? upper : now, rules)
  const lower = first === null ? null : firstInstant(first, rules.zone)
  if (lower !== null && lower > upper) throw apiError('invalid_date_range')
  if (lower !== null && isTooOld(first, lower, rules)) throw apiError('from_too_old')
  if (to !== null) return { from: lower, to: upper }
  return rules.defaultDays === null
    ? { from: lower, to: null }
    : { from: lower, to: upper, isOpen: true }
}

/** A whole day of the user's zone (reading R14), so that the first day is complete. */
function defaultFrom(before: Micros, rules: DateRules): Moment | null {
  if (rules.defaultDays === null) return null
  const at = Temporal.Instant.fromEpochMilliseconds(toMillis(before))
  const day = at.toZonedDateTimeISO(rules.zone.id).toPlainDate()
  return { kind: 'day', day: day.subtract({ days: rules.defaultDays }).toString() }
}

export function firstInstant(moment: Moment, zone: Zone): Micros {
  return moment.kind === 'day' ? zone.startOfDay(moment.day) : moment.instant
}

/** Reading R15: the plain day exactly that many years ago is still accepted. */
function isTooOld(given: Moment | null, lower: Micros, rules: DateRules): boolean {
  if (rules.maxYears === null) return false
  const now = Temporal.Instant.fromEpochMilliseconds(rules.now).toZonedDateTimeISO(rules.zone.id)
  const oldest = now.subtract({ years: rules.maxYears })
  if (given?.kind === 'day') return given.day < oldest.toPlainDate().toString()
  return lower < toMicros(oldest.epochMilliseconds)
}

/** Reads one bound; 'bad' for anything but an existing day or an instant with a zone (reading R14). */
export function readBound(text: string): Moment | 'bad' {
  if (text.length > 64) return 'bad'
  const day = parseDay(text)
  if (day !== null) return { kind: 'day', day }
  // A `+` that was not percent-encoded arrives as a blank (reading R14).
  const mended = text.replace(/^(\S+[0-9]) (\d{2}:\d{2})$/, '$1+$2')
  if (!/^\d{4}-\d{2}-\d{2}[Tt].*(?:[Zz]|[+-]\d{2}:\d{2})$/.test(mended)) return 'bad'
  const instant = parseInstant(mended)
  return instant === null ? 'bad' : { kind: 'instant', instant }
}

/**
 * The range that an agent may request with a tool that has `maxDays` (contract, Limits; reading R30). REST
 * has no such bound; the result is REST's own `from` and `to`. The resource checks formats and order.
 */
import { apiError } from '#contract/errors.ts'
import {
  addDays,
  addMicros,
  hourMs,
  type Micros,
  type Millis,
  toIso,
  toMicros,
  toMillis,
  type Zone,
} from '#kernel/time.ts'
import { type DateParameters, firstInstant, type Moment, readBound } from './date-window.ts'

/** The earliest bounds that can be written (RFC 3339 §5.6: years have four digits, offsets end at 23:59). */
const earliest = { day: '0000-01-01', instant: '0000-01-01T00:00:00+23:59' } as const

/**
 * Fills in missing bounds, as plain days where possible, so that the same question uses the same cache entry
 * all day. Neither: from `maxDays` ago. `from` alone: that many days later, or now when that is nearer (then
 * `to` is omitted, so that rows of today are never hidden: reading R16a). `to` alone: from that many days
 * before it, or from the first possible day. Throws `invalid_params` when both are further apart. Invalid
 * dates are left to the resource.
 */
export function readToolRange(
  given: DateParameters,
  { maxDays, zone, now: nowMs }: RangeRules,
): { readonly from?: string; readonly to?: string } {
  const from = given.from === undefined ? null : readBound(given.from)
  const to = given.to === undefined ? null : readBound(given.to)
  if (from === 'bad' || to === 'bad') return toTexts(given.from, given.to)
  const now = toMicros(nowMs)
  if (from === null) {
    if (to === null) return { from: addDays(zone.dayOf(now), -maxDays) }
    const { text } = shift(to, -maxDays, zone)
    // A year before 0000 has a sign, so a bound that was not given would be refused.
    return toTexts(text.startsWith('-') ? earliest[to.kind] : text, given.to)
  }
  const latest = shift(from, maxDays, zone)
  if (to === null) return toTexts(given.from, latest.end < now ? latest.text : undefined)
  if (firstInstant(to, zone) > latest.start) {
    throw apiError('invalid_params', {
      details: [`to: must be at most ${maxDays} days after from; ask year by year`],
    })
  }
  return toTexts(given.from, given.to)
}

/** No walk that began before midnight goes on for so long. */
const longestWalkMs = 6 * hourMs

/**
 * The range that the rules above gave to the same arguments some hours ago, when that was another one: before
 * midnight of the person's zone where `from` is filled in, or before `to` was. A walk that began then may go
 * on. Undefined when there is none.
 */
export function readFormerRange(
  given: DateParameters,
  rules: RangeRules,
): DateParameters | undefined {
  const filled = readToolRange(given, rules)
  const former = readToolRange(given, { ...rules, now: rules.now - longestWalkMs })
  return former.from === filled.from && former.to === filled.to ? undefined : former
}

export interface RangeRules {
  readonly maxDays: number
  readonly zone: Zone
  readonly now: Millis
}

interface Shifted {
  readonly text: string
  /** Its first instant. */
  readonly start: Micros
  /** Its last one. */
  readonly end: Micros
}

/** A moment shifted by that many calendar days of the user's zone, in the form in which it was given. */
function shift(moment: Moment, days: number, zone: Zone): Shifted {
  if (moment.kind === 'day') {
    const day = addDays(moment.day, days)
    return { text: day, start: zone.startOfDay(day), end: zone.endOfDay(day) }
  }
  const ms = toMillis(moment.instant)
  const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone.id)
  const shiftedMs = at.add({ days }).epochMilliseconds
  const instant = addMicros(toMicros(shiftedMs), moment.instant - toMicros(ms))
  return { text: toIso(shiftedMs), start: instant, end: instant }
}

function toTexts(from: string | undefined, to: string | undefined) {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

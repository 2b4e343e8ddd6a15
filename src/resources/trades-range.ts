/**
 * The range of trades that an agent may ask for (specification, Limits: 366 days between from and to; reading R30). REST
 * has no such bound; what this returns is the REST query's own `from` and `to`. Formats and order stay the resource's.
 */
import { apiError } from '#contract/errors.ts'
import { addDays, type Micros, microsPerMs, toIso, type Zone } from '#kernel/time.ts'
import { type DateParameters, type Moment, readMoment } from './date-window.ts'

/** Specification, Limits: trades window (MCP). */
const maxDays = 366
/** The earliest bounds that can be written at all (RFC 3339 §5.6: years have four digits, offsets end at 23:59). */
const earliest = { day: '0000-01-01', instant: '0000-01-01T00:00:00+23:59' } as const

/**
 * Fills in what was left out, as plain days where it can, so that the same question has the same cache entry all day:
 * neither: from 366 days ago; `from` alone: up to 366 days later, or now (left out) when that is nearer; `to` alone: from
 * 366 days before it, or where the calendar begins. Throws `invalid_params` when both lie farther apart. What is no date is left to the resource.
 */
export function readTradesRange(
  given: DateParameters,
  zone: Zone,
  nowMs: number,
): { readonly from?: string; readonly to?: string } {
  const from = given.from === undefined ? null : readMoment(given.from)
  const to = given.to === undefined ? null : readMoment(given.to)
  if (from === 'bad' || to === 'bad') return toTexts(given.from, given.to)
  const now = nowMs * microsPerMs
  if (from === null) {
    if (to === null) return { from: addDays(zone.dayOf(now), -maxDays) }
    const { text } = shift(to, -maxDays, zone)
    // A year before 0000 is written with a sign, which nobody reads as a date: least of all as one that was not given.
    return toTexts(text.startsWith('-') ? earliest[to.kind] : text, given.to)
  }
  const latest = shift(from, maxDays, zone)
  if (to === null) return toTexts(given.from, latest.start < now ? latest.text : undefined)
  if (startOf(to, zone) > latest.start) {
    throw apiError('invalid_params', {
      details: [`to: must be at most ${maxDays} days after from; ask year by year`],
    })
  }
  return toTexts(given.from, given.to)
}

interface Shifted {
  readonly text: string
  /** Its first instant. */
  readonly start: Micros
}

/** So many calendar days of the user's zone later or earlier, in the form in which it was given. */
function shift(moment: Moment, days: number, zone: Zone): Shifted {
  if (moment.kind === 'day') {
    const day = addDays(moment.day, days)
    return { text: day, start: zone.startOfDay(day) }
  }
  const ms = Math.floor(moment.instant / microsPerMs)
  const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone.id)
  const shiftedMs = at.add({ days }).epochMilliseconds
  return {
    text: toIso(shiftedMs),
    start: shiftedMs * microsPerMs + (moment.instant - ms * microsPerMs),
  }
}

function startOf(moment: Moment, zone: Zone): Micros {
  return moment.kind === 'day' ? zone.startOfDay(moment.day) : moment.instant
}

function toTexts(from: string | undefined, to: string | undefined) {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

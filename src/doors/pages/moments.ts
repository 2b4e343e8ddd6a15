/**
 * Times on pages: shown in the person's zone to the minute, or as the time that has passed, with the exact
 * instant in UTC on hover. Rendering only.
 */
import { dayMs, hourMs, minuteMs, toIso } from '#kernel/time.ts'
import { type Html, html } from './html.ts'

export const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** @param ms the instant in milliseconds since the epoch. @param zone an IANA name. */
export function renderMoment(ms: number, zone: string): Html {
  const exact = toIso(ms)
  return html`<time datetime="${exact}" title="${exact}">${toMomentText(ms, zone)}</time>`
}

function toMomentText(ms: number, zone: string): string {
  const { day, month, year, hour, minute } =
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  return `${day} ${months[month - 1]} ${year}, ${twoDigits(hour)}:${twoDigits(minute)}`
}

/** To the second, for what happens several times a minute. */
export function renderInstant(ms: number, zone: string): Html {
  const { second } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  const exact = toIso(ms)
  return html`<time datetime="${exact}" title="${exact}">${toMomentText(ms, zone)}:${twoDigits(second)}</time>`
}

const steps = [
  [minuteMs, 'second', 1000],
  [hourMs, 'minute', minuteMs],
  [dayMs, 'hour', hourMs],
] as const

/** As people say it, within a day of now; else as `renderMoment`. */
export function renderAgo(ms: number, zone: string, now: number): Html {
  const passed = Math.abs(now - ms)
  const step = steps.find(([limit]) => passed < limit)
  if (step === undefined) return renderMoment(ms, zone)
  const [, unit, length] = step
  const count = Math.floor(passed / length)
  const amount = `${count} ${unit}${count === 1 ? '' : 's'}`
  const words = unit === 'second' ? 'just now' : ms > now ? `in ${amount}` : `${amount} ago`
  const soon = unit === 'second' && ms > now ? 'within a minute' : words
  const exact = toIso(ms)
  return html`<time datetime="${exact}" title="${exact}">${soon}</time>`
}

/** The day of an instant in the zone. */
export function renderDayAt(ms: number, zone: string): Html {
  const { day, month, year } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  return html`${day} ${months[month - 1]} ${year}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** Times on pages: in the person's zone to the minute, the exact instant in UTC on hover. Rendering only. */
import { toIso } from '#kernel/time.ts'
import { type Html, html } from './html.ts'

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** @param ms the instant in milliseconds since the epoch. @param zone an IANA name. */
export function renderMoment(ms: number, zone: string): Html {
  const { day, month, year, hour, minute } =
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  const exact = toIso(ms)
  const text = `${day} ${months[month - 1]} ${year}, ${twoDigits(hour)}:${twoDigits(minute)}`
  return html`<time datetime="${exact}" title="${exact}">${text}</time>`
}

export function renderDayAt(ms: number, zone: string): Html {
  const { day, month, year } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  return html`${day} ${months[month - 1]} ${year}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/**
 * The attempts at an endpoint in the last 24 hours, drawn on the server: a bar for each hour, failed ones in
 * red, with the same numbers and the latency as a table. Rendering only.
 */
import { hourMs } from '#kernel/time.ts'
import type { AttemptSeenRow } from '#store/ports/deliveries.ts'
import { type Html, html } from '../html.ts'
import { renderMoment } from '../moments.ts'
import { renderMarked } from '../plot-marks.ts'
import { table } from '../table.ts'
import { toText } from '../usage/words.ts'

export const hoursShown = 24
/** The attempts of this many of the newest deliveries are counted. */
export const deliveriesCounted = 5000
/** Units of the drawing, which the page scales to its own width. */
const height = 60
const step = 10
const barWidth = 8

export interface AttemptsShown {
  readonly attempts: readonly AttemptSeenRow[]
  /** There are older deliveries, whose attempts are not counted. */
  readonly isCut: boolean
}

interface Hour {
  readonly at: number
  readonly attempts: number
  readonly failed: number
  /** Milliseconds; null: there was no attempt. */
  readonly median: number | null
  readonly slowest: number | null
}

export function renderHours(
  { attempts, isCut }: AttemptsShown,
  { zone, now }: { readonly zone: string; readonly now: number },
): Html | null {
  const newest = `the newest ${toText(deliveriesCounted)} deliveries`
  if (attempts.length === 0)
    return isCut
      ? html`<p>None of ${newest} was attempted in the last ${hoursShown} hours.</p>`
      : null
  const hours = toHours(attempts, now)
  const most = Math.max(1, ...hours.map((hour) => hour.attempts))
  const failed = attempts.filter(({ isFailed }) => isFailed).length
  const times = toTimes(attempts)
  const words = `${toText(attempts.length)} ${attempts.length === 1 ? 'attempt' : 'attempts'} in the last ${hoursShown} hours${isCut ? `, counted for ${newest} alone` : ''}, ${toText(failed)} failed; half of them took at most ${toText(times.median ?? 0)} ms, the slowest ${toText(times.slowest ?? 0)} ms`
  return html`<figure class="plot">
<figcaption>${words}.</figcaption>
${renderMarked(
  html`<svg role="img" aria-label="${words}" viewBox="0 0 ${hoursShown * step} ${height}" preserveAspectRatio="none" width="100%" height="80">
<line class="ground" x1="0" x2="${hoursShown * step}" y1="${height}" y2="${height}"></line>
${hours.map((hour, at) => renderBar(hour, at * step + 1, most))}
</svg>`,
  {
    name: 'attempts-hour',
    label: 'Attempts by hour',
    values: hours.map((hour) => describeHour(hour, zone)),
  },
)}
<div class="span"><span>${renderMoment(hours[0]?.at ?? now, zone)}</span><span>now</span></div>
<ul class="legend"><li class="computed">Accepted</li><li class="turned-away">Failed</li></ul>
<details><summary>The same numbers as a table</summary>
${table<Hour>(
  'Attempts by hour',
  [
    { name: 'Hour', show: ({ at }) => html`from ${renderMoment(at, zone)}` },
    { name: 'Attempts', className: 'sum', show: (hour) => toText(hour.attempts) },
    { name: 'Failed', className: 'sum', show: (hour) => toText(hour.failed) },
    {
      name: 'Median',
      className: 'sum',
      show: ({ median }) => (median === null ? '—' : `${toText(median)} ms`),
    },
    {
      name: 'Slowest',
      className: 'sum',
      show: ({ slowest }) => (slowest === null ? '—' : `${toText(slowest)} ms`),
    },
  ],
  hours.filter((hour) => hour.attempts > 0).toReversed(),
  'numbers',
)}</details>
</figure>`
}

function describeHour({ at, attempts, failed, median, slowest }: Hour, zone: string): Html {
  const times =
    median !== null &&
    `; half of them took at most ${toText(median)} ms, the slowest ${toText(slowest ?? median)} ms`
  return html`Hour from ${renderMoment(at, zone)}: ${toText(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'}, ${toText(failed)} failed${times}`
}

/** The last one is the hour that ends now. */
function toHours(attempts: readonly AttemptSeenRow[], now: number): readonly Hour[] {
  return Array.from({ length: hoursShown }, (_, index) => {
    const at = now - (hoursShown - index) * hourMs
    const own = attempts.filter(
      (one) => one.at >= at && one.at < at + hourMs + (index === 23 ? 1 : 0),
    )
    const failed = own.filter(({ isFailed }) => isFailed).length
    return { at, attempts: own.length, failed, ...toTimes(own) }
  })
}

function toTimes(attempts: readonly AttemptSeenRow[]): Pick<Hour, 'median' | 'slowest'> {
  const times = attempts.map(({ durationMs }) => durationMs).toSorted((one, other) => one - other)
  return {
    median: times[Math.floor((times.length - 1) / 2)] ?? null,
    slowest: times.at(-1) ?? null,
  }
}

function renderBar({ attempts, failed }: Hour, x: number, most: number): readonly Html[] {
  const size = (count: number) => (count === 0 ? 0 : Math.max(2, (count / most) * height))
  const [bad, good] = [size(failed), size(attempts - failed)]
  const rect = (name: string, y: number, tall: number) =>
    html`<rect class="${name}" x="${x}" y="${y.toFixed(1)}" width="${barWidth}" height="${tall.toFixed(1)}"></rect>`
  return [
    ...(good > 0 ? [rect('computed', Math.max(0, height - good), good)] : []),
    ...(bad > 0 ? [rect('turned-away', Math.max(0, height - good - bad), bad)] : []),
  ]
}

/**
 * The plot of requests by day, drawn on the server: one bar for each day, in three parts. The same numbers
 * stand in the table below it.
 */
import type { UsageReport, UsageResults } from '#usage/report.ts'
import { type Html, html } from '../html.ts'
import { renderMarked } from '../plot-marks.ts'
import { type TableColumn, table } from '../table.ts'
import { renderUsageDay, toDayText, toText } from './words.ts'

/** Units of the drawing, which the page scales to its own width. */
const height = 100
const barWidth = 8
const step = 10

/** The parts of a bar, from the bottom. */
const parts = [
  ['computed', 'Computed', ({ MISS, BYPASS }: UsageResults) => MISS + BYPASS],
  ['cached', 'From the cache', ({ HIT }: UsageResults) => HIT],
  ['limited', 'Over a limit (429)', ({ limited }: UsageResults) => limited],
  ['turned-away', 'Refused, failed or cut off', countFailed],
] as const

/** Without those over a limit: a program that asks too often is no failure. */
export function countFailed({ refused, failed, disconnected }: UsageResults): number {
  return refused + failed + disconnected
}

export function renderChart({ days, from, to, requests }: UsageReport): Html {
  const most = Math.max(1, ...days.map((day) => day.requests))
  const title = `Requests by day from ${toDayText(from)} to ${toDayText(to)}: ${toText(requests)} in all, at most ${toText(most)} on a day`
  return html`<figure class="plot">
<figcaption>Most on one day: <strong>${toText(most)}</strong></figcaption>
<div class="scaled"><ul class="scale" aria-hidden="true"><li>${toText(most)}</li>${most > 1 && html`<li>${toText(Math.round(most / 2))}</li>`}<li>0</li></ul>
${renderMarked(
  html`<svg role="img" aria-label="${title}" viewBox="0 0 ${days.length * step} ${height}" preserveAspectRatio="none" width="100%" height="128">
<line class="ground" x1="0" x2="${days.length * step}" y1="${height}" y2="${height}"></line>
${days.map(({ results }, at) => renderBar(results, at * step + (step - barWidth) / 2, most))}
</svg>`,
  { name: 'usage-day', label: 'Requests by day', values: days.map(describeDay) },
)}<div class="span"><span>${renderUsageDay(from)}</span><span>${renderUsageDay(to)}</span></div></div>
<ul class="legend">${parts.map(([name, words]) => html`<li class="${name}">${words}</li>`)}</ul>
</figure>`
}

function describeDay({ day, requests, results }: UsageReport['days'][number]): string {
  const told = parts.map(([, words, count]) => `${words}: ${toText(count(results))}`)
  return `${toDayText(day)}: ${toText(requests)}. ${told.join(', ')}`
}

function renderBar(results: UsageResults, x: number, most: number): readonly Html[] {
  let below = 0
  return parts.flatMap(([name, , count]) => {
    const requests = count(results)
    if (requests === 0) return []
    // A small part of a large day stays visible.
    const size = Math.max(0.8, (requests / most) * height)
    below = Math.min(height, below + size)
    return [
      html`<rect class="${name}" x="${x}" y="${round(height - below)}" width="${barWidth}" height="${round(size)}"></rect>`,
    ]
  })
}

function round(value: number): string {
  return value.toFixed(2)
}

const dayColumns: readonly TableColumn<UsageReport['days'][number]>[] = [
  { name: 'Day', show: ({ day }) => renderUsageDay(day) },
  { name: 'Requests', className: 'sum', show: ({ requests }) => toText(requests) },
  {
    name: 'Computed',
    className: 'sum',
    show: ({ results }) => toText(results.MISS + results.BYPASS),
  },
  { name: 'From the cache', className: 'sum', show: ({ results }) => toText(results.HIT) },
  { name: 'Over a limit (429)', className: 'sum', show: ({ results }) => toText(results.limited) },
  {
    name: 'Refused, failed or cut off',
    className: 'sum',
    show: ({ results }) => toText(countFailed(results)),
  },
]

export function renderDayTable({ days }: UsageReport): Html {
  return html`<details><summary>The same numbers as a table</summary>
${table('Requests by day', dayColumns, days.toReversed(), 'numbers')}
</details>`
}

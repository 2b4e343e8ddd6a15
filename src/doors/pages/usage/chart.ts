/**
 * The plot of requests by day, drawn on the server: one bar for each day, in three parts. The same numbers
 * stand in the table below it.
 */
import type { UsageReport, UsageResults } from '#usage/report.ts'
import { type Html, html } from '../html.ts'
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
  ['turned-away', 'Refused, failed or cut off', countUnanswered],
] as const

/** Requests that got no data. */
export function countUnanswered({ limited, refused, failed, disconnected }: UsageResults): number {
  return limited + refused + failed + disconnected
}

export function renderChart({ days, from, to, requests }: UsageReport): Html {
  const most = Math.max(1, ...days.map((day) => day.requests))
  const title = `Requests by day from ${toDayText(from)} to ${toDayText(to)}: ${toText(requests)} in all, at most ${toText(most)} on a day`
  return html`<figure class="plot">
<figcaption>Most on one day: <strong>${toText(most)}</strong></figcaption>
<svg role="img" aria-labelledby="plot-title" viewBox="0 0 ${days.length * step} ${height}" preserveAspectRatio="none" width="100%" height="128">
<title id="plot-title">${title}</title>
<line class="ground" x1="0" x2="${days.length * step}" y1="${height}" y2="${height}"></line>
${days.map(({ results }, at) => renderBar(results, at * step + (step - barWidth) / 2, most))}
</svg>
<div class="span"><span>${renderUsageDay(from)}</span><span>${renderUsageDay(to)}</span></div>
<ul class="legend">${parts.map(([name, words]) => html`<li class="${name}">${words}</li>`)}</ul>
</figure>`
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
  { name: 'Requests', show: ({ requests }) => toText(requests) },
  ...parts.map(([, name, count]) => ({
    name,
    show: ({ results }: { readonly results: UsageResults }) => toText(count(results)),
  })),
]

export function renderDayTable({ days }: UsageReport): Html {
  return html`<details><summary>The same numbers as a table</summary>
${table('Requests by day', dayColumns, days.toReversed(), 'numbers')}
</details>`
}

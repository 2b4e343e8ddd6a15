/** Healthy connections: one line each, with the age of the data and what is left of the consent. */
import { type ConnectionOverview, type DayRuns, pictureDays } from '#connections/overview.ts'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { hourMs } from '#kernel/time.ts'
import { foreignText, type Html, html } from '../html.ts'
import { renderAgo } from '../moments.ts'
import {
  nameOf,
  pathOf,
  type ReadAt,
  renderFreshness,
  renderOutlook,
  renderState,
} from './facts.ts'
import { renderPicture } from './picture.ts'

export interface LinesOptions extends ReadAt {
  readonly countsOf: (overview: ConnectionOverview) => readonly DayRuns[] | undefined
}

export function renderLines(all: readonly ConnectionOverview[], options: LinesOptions): Html {
  return html`<ul class="lines">${all.map((one) => renderLine(one, options))}</ul>`
}

/** One line; its link leads to the details. */
function renderLine(overview: ConnectionOverview, options: LinesOptions): Html {
  const { row } = overview
  return html`<li class="connection">
<span class="monogram" aria-hidden="true">${toMonogram(nameOf(row))}</span>
<span class="who"><a href="${pathOf(row)}" class="foreign">${nameOf(row)}</a> <small class="holds">${summarizeNames(overview.accountNames)}</small></span>
<span>${renderState(overview)}</span>
<span>${renderAge(overview, options)}</span>
<span>${renderConsent(overview, options)}</span>
<details><summary>Details</summary>
<dl class="facts">${renderFreshness(overview, options)}${renderOutlook(overview, options)}</dl>
${renderPicture(options.countsOf(overview), pictureDays)}</details>
</li>`
}

/** The first letter or digit of the name. */
export function toMonogram(name: string): string {
  return (/[\p{L}\p{N}]/u.exec(name)?.[0] ?? '•').toUpperCase()
}

const namesShown = 3

/** `Everyday, Bonus Saver and 2 more`. */
export function summarizeNames(names: readonly string[]): string {
  if (names.length === 0) return 'No account is known yet'
  const shown = names.slice(0, namesShown).map((name) => foreignText(hideNumberShapes(name), 40))
  const more = names.length - shown.length
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`
}

/** Syncs run at least once a day: older data has missed one. */
const ages = [
  [26 * hourMs, 'fresh'],
  [7 * 24 * hourMs, 'aging'],
  [Number.POSITIVE_INFINITY, 'old'],
] as const

/** When the provider or we last read it, in words and colour. */
function renderAge({ row, lastSuccessAt }: ConnectionOverview, { zone, now }: ReadAt): Html {
  const at = Math.max(row.lastRefreshedAt ?? 0, lastSuccessAt ?? 0, row.createdAt)
  const [, look] = ages.find(([below]) => now - at < below) ?? ages[2]
  return html`<span class="age ${look}">${renderAgo(at, zone, now)}</span>`
}

/** What is left of the consent, as a bar of the time since it was linked. */
function renderConsent({ row }: ConnectionOverview, { now }: ReadAt): Html | null {
  const { consentExpiresAt: end, createdAt } = row
  if (end === null) return null
  const days = Math.max(0, Math.ceil((end - now) / (24 * hourMs)))
  const whole = Math.max(1, end - createdAt)
  const left = Math.min(100, Math.max(0, Math.round((100 * (end - now)) / whole)))
  const words = days === 0 ? 'consent ended' : `${days} ${days === 1 ? 'day' : 'days'} left`
  return html`<meter min="0" max="100" low="15" value="${left}" aria-label="Left of the consent"></meter> <small>${words}</small>`
}

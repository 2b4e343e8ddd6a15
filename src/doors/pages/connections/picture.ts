/**
 * The syncs of the last 30 days as a small picture, drawn on the server: one bar for each day, told apart by
 * shape as well as by colour. A sentence says the same for those who do not see it, and a table on the page
 * of the connection.
 */
import type { DayRuns } from '#connections/overview.ts'
import { type Html, html } from '../html.ts'

/** From the middle of a bar to the next one; a bar is 6 wide (pages.css). */
const step = 8
const toMiddle = 3
const height = 24

type Kind = 'good' | 'bad' | 'none'

/** @param counts one entry for each day, oldest first; absent: no sync ran. */
export function renderPicture(counts: readonly DayRuns[] | undefined, days: number): Html {
  const all = Array.from({ length: days }, (_, index) => counts?.[index] ?? noRuns)
  const paths: Record<Kind, string> = { good: '', bad: '', none: '' }
  for (const [index, day] of all.entries()) {
    for (const [kind, y, tall] of barsOf(day)) {
      // As a stroke, which takes half the bytes of a rectangle: an overview can have fifty pictures.
      paths[kind] += `M${index * step + toMiddle} ${y}v${tall}`
    }
  }
  paths.none = dashesOf(all)
  const drawn = Object.entries(paths).filter(([, path]) => path !== '')
  return html`<svg class="runs" viewBox="0 0 ${days * step - 2} ${height}" preserveAspectRatio="xMinYMid" role="img" aria-label="${describeDays(all)}">${drawn.map(([kind, path]) => html`<path class="${kind}" d="${path}"/>`)}</svg>`
}

const noRuns: DayRuns = { succeeded: 0, failed: 0 }

/** The days without a sync: one line for each row of them, which the style sheet cuts into dashes. */
function dashesOf(all: readonly DayRuns[]): string {
  let path = ''
  let first = 0
  for (let index = 0; index <= all.length; index += 1) {
    const day = all[index]
    if (day !== undefined && day.succeeded + day.failed === 0) continue
    const days = index - first
    if (days > 0) path += `M${first * step} ${height - 1}h${days * step - 2}`
    first = index + 1
  }
  return path
}

/** Kind, top and height of a day's bars: whole where all succeeded, the upper half where all failed. */
function barsOf({ succeeded, failed }: DayRuns): (readonly [Kind, number, number])[] {
  if (succeeded + failed === 0) return []
  if (failed === 0) return [['good', 0, height]]
  const bad = ['bad', 0, height / 2 - 1] as const
  return succeeded === 0 ? [bad] : [bad, ['good', height / 2 + 1, height / 2 - 1]]
}

/** The picture in one sentence. */
export function describeDays(days: readonly DayRuns[]): string {
  const sum = (of: keyof DayRuns) => days.reduce((total, day) => total + day[of], 0)
  const [succeeded, failed] = [sum('succeeded'), sum('failed')]
  const when = `in the last ${days.length} days`
  if (succeeded + failed === 0) return `No sync ended ${when}`
  const failing = days.filter((day) => day.failed > 0).length
  const onDays = failing === 1 ? 'on 1 day' : `on ${failing} days`
  const failures = failed === 0 ? 'none failed' : `${failed} failed ${onDays}`
  return `Syncs ${when}: ${succeeded} succeeded, ${failures}`
}

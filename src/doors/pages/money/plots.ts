/**
 * Pictures of what was just read, drawn on the server. The same numbers stand beside each bar, or in the
 * table below. Geometry is derived from decimals for drawing only. Rendering only.
 */
import { compare, type Decimal, zero } from '#kernel/decimal.ts'
import { addDays, dayMs } from '#kernel/time.ts'
import { type Html, type HtmlValue, html } from '../html.ts'
import { renderMarked } from '../plot-marks.ts'
import { table } from '../table.ts'
import { largest, nameCurrency, renderAmount, toShare } from './amounts.ts'
import type { DayBalance, MonthFlow } from './sums.ts'

/** Units of the drawings, which the page scales. */
const [width, height] = [100, 8]

interface Bar {
  readonly className: 'money-in' | 'money-out' | 'worth'
  readonly value: Decimal
}

/** Bars below one another. The numbers stand in the same row, so that it is only for the eye. */
function renderBars(bars: readonly Bar[], most: Decimal): Html {
  return html`<svg class="bars" aria-hidden="true" viewBox="0 0 ${width} ${bars.length * height}" preserveAspectRatio="none">${bars.map(
    ({ className, value }, at) =>
      html`<rect class="${className}" x="0" y="${at * height + 1}" width="${(toShare(value, most) * width).toFixed(2)}" height="${height - 2}"></rect>`,
  )}</svg>`
}

export function renderFlows(flows: readonly MonthFlow[], currency: string): Html {
  const most = largest(flows.flatMap(({ moneyIn, moneyOut }) => [moneyIn, moneyOut]))
  return table<MonthFlow>(
    `Money in and out by month in ${nameCurrency(currency)}`,
    [
      { name: 'Month', show: ({ month }) => month },
      { name: 'In', className: 'sum', show: (flow) => renderAmount(flow.moneyIn, currency) },
      { name: 'Out', className: 'sum', show: (flow) => renderAmount(flow.moneyOut, currency) },
      {
        name: 'Picture',
        isPlain: true,
        className: 'picture',
        show: ({ moneyIn, moneyOut }) =>
          renderBars(
            [
              { className: 'money-in', value: moneyIn },
              { className: 'money-out', value: moneyOut },
            ],
            most,
          ),
      },
    ],
    flows,
  )
}

export interface NamedValue {
  readonly name: HtmlValue
  readonly value: Decimal
}

/** Parts of one currency, each with its bar. */
export function renderParts(
  label: string,
  heading: string,
  given: {
    readonly parts: readonly NamedValue[]
    readonly currency: string
    readonly look: Bar['className']
  },
): Html {
  const { parts, currency, look } = given
  const most = largest(parts.map(({ value }) => value))
  return table<NamedValue>(
    label,
    [
      { name: heading, show: ({ name }) => name },
      { name: 'Amount', className: 'sum', show: ({ value }) => renderAmount(value, currency) },
      {
        name: 'Picture',
        isPlain: true,
        className: 'picture',
        show: ({ value }) => renderBars([{ className: look, value }], most),
      },
    ],
    parts,
  )
}

const [lineWidth, lineHeight] = [600, 100]

/** @param days oldest first, at least two. */
export function renderBalances(days: readonly DayBalance[], currency: string): Html {
  const [first, last] = [days.at(0)?.day ?? '', days.at(-1)?.day ?? '']
  return html`<figure class="plot">
<figcaption>Balance at the end of each day with rows, computed backwards from today’s. What is pending is not in it. Balance and rows may be up to half an hour apart; what was booked in between is missing. ${renderExtremes(days, currency)}</figcaption>
${renderMarked(
  html`<svg role="img" class="amount-plot" aria-label="Computed balance from ${first} to ${last}; the table below has the numbers" viewBox="0 0 ${lineWidth} ${lineHeight}" preserveAspectRatio="none" width="100%" height="128">
${drawLine(days)}
</svg>`,
  {
    name: 'balance-day',
    label: 'Computed balance by day',
    values: toColumns(days).map(
      ({ day, balance }) => html`${day}: ${renderAmount(balance, currency)}`,
    ),
  },
)}
<div class="span"><span>${first}</span><span>${last}</span></div>
<details><summary>The same numbers as a table</summary>
${table<DayBalance>(
  'Computed balance by day',
  [
    { name: 'Day', show: ({ day }) => day },
    {
      name: 'Balance, computed',
      className: 'sum',
      show: ({ balance }) => renderAmount(balance, currency),
    },
  ],
  days.toReversed(),
)}
</details>
</figure>`
}

/** The scale of the line, in words: the ground is zero. */
function renderExtremes(days: readonly DayBalance[], currency: string): Html {
  const sorted = days.map(({ balance }) => balance).toSorted(compare)
  const [low = zero, high = zero] = [sorted.at(0), sorted.at(-1)]
  return html`Lowest ${renderAmount(low, currency)}, highest ${renderAmount(high, currency)}; the grey line is zero.`
}

const mostColumns = 60

/** Days at equal distances from the first to the last one, each with the balance that held on it. */
function toColumns(days: readonly DayBalance[]): readonly DayBalance[] {
  const [first = '', last = ''] = [days.at(0)?.day, days.at(-1)?.day]
  const between = Math.round((Date.parse(last) - Date.parse(first)) / dayMs)
  const count = Math.min(mostColumns, between + 1)
  return Array.from({ length: count }, (_, at) => {
    const passed = Math.round((between * at) / Math.max(1, count - 1))
    const day = addDays(first, passed)
    return days.findLast((one) => one.day <= day) ?? { day, balance: zero }
  })
}

/** Steps: a balance stays until the next day that has rows. The ground is zero. */
function drawLine(days: readonly DayBalance[]): Html {
  const values = days.map(({ balance }) => Number(balance))
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  const range = high - low || 1
  const toY = (value: number) => (((high - value) / range) * (lineHeight - 4) + 2).toFixed(2)
  const at = days.map(({ day }) => Date.parse(day))
  const [start = 0, end = 1] = [at[0], at.at(-1)]
  const toX = (ms: number) => (((ms - start) / (end - start || 1)) * lineWidth).toFixed(2)
  const steps = values.map((value, index) =>
    index === 0 ? `M0 ${toY(value)}` : `H${toX(at[index] ?? 0)}V${toY(value)}`,
  )
  return html`<line class="ground" x1="0" x2="${lineWidth}" y1="${toY(0)}" y2="${toY(0)}"></line>
<path class="balance" d="${steps.join('')}"></path>`
}

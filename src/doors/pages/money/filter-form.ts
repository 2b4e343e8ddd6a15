/**
 * The form above the rows of an account. It asks the provider only when its button is pressed. Rendering
 * only.
 */
import { categories } from '#contract/categories.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden } from '../layout.ts'
import { spans } from './row-filter.ts'
import type { MoneyViewOptions } from './view-options.ts'

type Choice = readonly [value: string, words: string]

/** Rows are as old as that at most (contract, Transactions). */
const monthsBack = 84

export function renderRowFilter(options: MoneyViewOptions): Html {
  const { account, category, filter, reading } = options
  const isBank = category === 'banking'
  return html`<form method="get" action="/money/${account.id}" id="view" class="filters">
${hidden('show', '1')}
${renderSelect('month', 'Time', filter.month, listTimes(options))}
<div class="field"><label for="q">Search</label><input type="search" id="q" name="q" maxlength="200" autocomplete="off" value="${filter.search}"></div>
${isBank && renderSelect('category', 'Category', filter.category, categoryChoices)}
${isBank && renderSelect('flow', 'Direction', filter.flow, flowChoices)}
<button type="submit">${reading === null ? `Show ${isBank ? 'transactions' : 'holdings and trades'}` : 'Show'}</button>
</form>`
}

const categoryChoices: readonly Choice[] = [
  ['', 'All'],
  ...categories.map(({ key, label }): Choice => [key, label]),
  ['none', 'Not categorised'],
]

const flowChoices: readonly Choice[] = [
  ['', 'In and out'],
  ['in', 'Money in'],
  ['out', 'Money out'],
]

function listTimes({ category, today }: MoneyViewOptions): readonly Choice[] {
  const now = today.toPlainYearMonth()
  const months = Array.from(
    { length: monthsBack },
    (_, back) => `${now.subtract({ months: back })}`,
  )
  return [
    ['', category === 'banking' ? 'The last 30 days' : 'All'],
    ...spans.map((span): Choice => [span, `${span} months, with this one`]),
    ...months.map((month): Choice => [month, month]),
  ]
}

function renderSelect(
  name: string,
  label: string,
  chosen: string,
  choices: readonly Choice[],
): Html {
  return html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${choices.map(([value, words]) => html`<option value="${value}"${value === chosen && html` selected`}>${foreignText(words)}</option>`)}</select></div>`
}

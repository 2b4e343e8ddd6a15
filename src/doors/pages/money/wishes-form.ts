/**
 * The form above the rows of an account. It asks the provider only when its button is pressed. Rendering
 * only.
 */
import { categories } from '#contract/categories.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden } from '../layout.ts'
import type { MoneyViewOptions } from './view-options.ts'
import { spans } from './wishes.ts'

type Choice = readonly [value: string, words: string]

/** Rows are as old as that at most (contract, Transactions). */
const monthsBack = 84

export function renderWishes(options: MoneyViewOptions): Html {
  const { account, category, wishes, reading } = options
  const isBank = category === 'banking'
  return html`<form method="get" action="/money/${account.id}" id="view" class="wishes">
${hidden('show', '1')}
${renderSelect('month', 'Time', wishes.month, listTimes(options))}
<div class="field"><label for="q">Search</label><input type="search" id="q" name="q" maxlength="200" autocomplete="off" value="${wishes.search}"></div>
${isBank && renderSelect('category', 'Category', wishes.category, categoryChoices)}
${isBank && renderSelect('flow', 'Direction', wishes.flow, flowChoices)}
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

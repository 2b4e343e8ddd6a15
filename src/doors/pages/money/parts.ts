/** Small parts of both pages of money. Rendering only. */
import type { AccountType } from '#contract/resources.ts'
import { foreignText, type Html, html } from '../html.ts'
import { type Asked, toQueryText } from './own-reads.ts'

export const typeWords: Readonly<Record<AccountType, string>> = {
  transaction: 'Transaction account',
  savings: 'Savings',
  'credit-card': 'Credit card',
  loan: 'Loan',
  investment: 'Investment',
  'term-deposit': 'Term deposit',
  other: 'Other',
}

/** Isolates the direction of a bank's text, so that it cannot reorder the text beside it. */
export const renderForeign = (text: string, maxLength = 200): Html =>
  html`<bdi class="words">${foreignText(text, maxLength)}</bdi>`

/** Works without a script; it belongs to the form, so that it stays when that is sent. */
export const renderSwitch = (isHidden: boolean): Html =>
  html`<p class="hiding"><label for="hide"><input type="checkbox" role="switch" id="hide" name="hide" value="1" form="view"${isHidden && html` checked`}>Hide amounts</label></p>`

/** The requests that a view made, to copy. */
export function renderRequests(base: string, asked: readonly Asked[]): Html {
  return html`<details class="client"><summary>Show as request</summary>
<p>With a key in <code>TRIBUTARY_API_KEY</code>, a program gets the same rows by:</p>
${asked.map(({ operation, query }) => html`<pre tabindex="0"><code data-copy="the request">${toCurl(base, operation.path, toQueryText(query))}</code></pre>`)}
</details>`
}

function toCurl(base: string, path: string, query: string): string {
  return `curl -s -H "Authorization: Bearer $TRIBUTARY_API_KEY" "${base}${path}?${query}"`
}

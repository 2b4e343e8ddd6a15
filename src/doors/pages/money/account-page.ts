/** One account: what it holds, its rows, and pictures of them. Rendering only. */
import { unreachable } from '#kernel/unreachable.ts'
import { nameOf, pathOf, shownStatusOf } from '../connections/facts.ts'
import { type Html, html } from '../html.ts'
import { nameCurrency } from './amounts.ts'
import { renderBank } from './bank-view.ts'
import { renderBroker } from './broker-view.ts'
import { renderRowFilter } from './filter-form.ts'
import { renderForeign, renderRequests, renderSwitch, typeWords } from './parts.ts'
import type { MoneyReading } from './read-money.ts'
import type { MoneyViewOptions } from './view-options.ts'

export function renderMoneyView(options: MoneyViewOptions): Html {
  const { account, row, reading, filter, base } = options
  const { name, isBroken, sentence } = shownStatusOf(row)
  const number = account.accountNumber
  return html`<p><a href="${filter.isHidden ? '/money?hide=1' : '/money'}">All accounts</a></p>
<h1>${renderForeign(account.name, 80)}</h1>
<p><a href="${pathOf(row)}" class="foreign">${nameOf(row)}</a> · ${typeWords[account.type]}${number !== null && ` · ${number}`} · ${nameCurrency(account.currency)}</p>
${isBroken && html`<p class="trouble"><strong>${name}.</strong> ${sentence}</p>`}
${reading === null && html`<p>Nothing is read before you ask, and nothing of it is kept here.</p>`}
${renderRowFilter(options)}
${reading !== null && html`${renderSwitch(filter.isHidden)}${renderReading(options, reading)}${renderRequests(base, reading.asked)}`}`
}

function renderReading(options: MoneyViewOptions, reading: MoneyReading): Html {
  switch (reading.category) {
    case 'banking':
      return renderBank(options, reading)
    case 'brokerage':
      return renderBroker(options, reading)
    default:
      return unreachable(reading)
  }
}

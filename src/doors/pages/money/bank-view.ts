/** A bank account: its balance, its transactions, and what they add up to. Rendering only. */
import type { Transaction } from '#contract/resources.ts'
import { type Html, html } from '../html.ts'
import { table } from '../table.ts'
import { nameCurrency, renderAmount } from './amounts.ts'
import { renderForeign } from './parts.ts'
import { renderBalances, renderFlows, renderParts } from './plots.ts'
import type { MoneyReading, Rows } from './read-money.ts'
import { chooseTransactions } from './row-filter.ts'
import { renderCount, renderDownloads, renderMore } from './rows-frame.ts'
import { computeBalances, labelOf, sumMonths, sumSpending } from './sums.ts'
import type { MoneyViewOptions } from './view-options.ts'
import { describeFailure, renderTrouble } from './words.ts'

type BankReading = Extract<MoneyReading, { readonly category: 'banking' }>

export function renderBank(options: MoneyViewOptions, reading: BankReading): Html {
  const { rows } = reading
  return html`<h2>Balance</h2>
${renderNow(options, reading)}
${rows.kind === 'read' && renderPast(options, reading, rows.body)}
${rows.kind === 'read' && renderSums(options, rows.body)}
<h2>Transactions</h2>
${rows.kind === 'failed' ? renderTrouble(describeFailure(rows.error, options.row.provider)) : renderRows(options, rows.body)}`
}

function renderNow({ account, row }: MoneyViewOptions, { balance }: BankReading): Html {
  if (balance.kind === 'failed') return renderTrouble(describeFailure(balance.error, row.provider))
  const { currentBalance: current, availableBalance: available } = balance.body ?? untold
  if (current === null) return renderTrouble('It could not be read now.')
  const currency = balance.body?.currency ?? account.currency
  return html`<p class="balance-now">${renderAmount(current, currency)}${available !== null && html` <small>${renderAmount(available, currency)} available</small>`}</p>`
}

const untold = { currentBalance: null, availableBalance: null }

/** Only where the rows are all until now, so that nothing is missing in between. */
function renderPast(
  { account, days, today }: MoneyViewOptions,
  { balance, isOfOneTime }: BankReading,
  { data, pagination, truncated }: Rows<Transaction>,
): Html | null {
  const { currentBalance: current = null, currency: balanceCurrency = null } =
    balance.kind === 'read' && balance.body !== null ? balance.body : {}
  const { offset, hasMore } = pagination
  if (current === null || data.length === 0 || days.to !== null || offset > 0) return null
  const renderNone = (why: string) =>
    html`<p><small>The balance of earlier days is not computed, because ${why}.</small></p>`
  if (hasMore || truncated) return renderNone('not all rows of that time are here')
  if (!isOfOneTime) return renderNone('the balance and the rows were not read at the same time')
  const shown = balanceCurrency ?? account.currency
  if (data.some(({ currency = account.currency }) => currency !== shown)) {
    return renderNone('some rows are in other currencies')
  }
  const balances = computeBalances(data, current, today.toString())
  return balances.length < 2 ? null : renderBalances(balances, shown)
}

function renderRows(options: MoneyViewOptions, rows: Rows<Transaction>): Html {
  const { account, filter } = options
  const shown = chooseTransactions(rows.data, filter)
  return html`${renderCount(options, rows, shown.length)}
${shown.length > 0 && html`${renderTable(shown, account.currency)}`}
${renderMore(options, rows)}
${renderDownloads(options)}`
}

function renderSums(
  { account, filter }: MoneyViewOptions,
  { data }: Rows<Transaction>,
): Html | null {
  const shown = chooseTransactions(data, filter)
  if (shown.length === 0) return null
  const groups = Map.groupBy(shown, ({ currency = account.currency }) => currency)
  // The account's own comes first.
  const byCurrency = [...groups].toSorted(
    ([one], [other]) => Number(other === account.currency) - Number(one === account.currency),
  )
  const spent = byCurrency.flatMap(([currency, rows]) => {
    const parts = sumSpending(rows)
    return parts.length === 0 ? [] : [{ parts, currency, look: 'money-out' } as const]
  })
  return html`<h2>In and out</h2>
<p>Of the transactions shown below.</p>
${byCurrency.map(([currency, rows]) => renderFlows(sumMonths(rows), currency))}
${
  spent.length > 0 &&
  html`<h2>Spending by category</h2>
${spent.map((given) => renderParts(`Spending by category in ${nameCurrency(given.currency)}`, 'Category', given))}`
}`
}

function renderTable(rows: readonly Transaction[], usual: string): Html {
  return table<Transaction>(
    'Transactions',
    [
      { name: 'Date', show: ({ date }) => html`<time>${date}</time>` },
      {
        name: 'Description',
        show: ({ description, merchantName }) =>
          html`${renderForeign(description)}${merchantName !== null && html` <small class="place">${renderForeign(merchantName)}</small>`}`,
      },
      { name: 'Category', show: ({ category }) => (category === null ? '—' : labelOf(category)) },
      {
        name: 'Amount',
        className: 'sum',
        show: ({ amount, currency = usual }) => renderAmount(amount, currency),
      },
    ],
    rows,
    'rows bank',
  )
}

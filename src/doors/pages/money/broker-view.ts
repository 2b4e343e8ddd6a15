/** A brokerage account: its positions by value, and its trades. Rendering only. */
import type { Holding, Trade } from '#contract/resources.ts'
import { compare, type Decimal, zero } from '#kernel/decimal.ts'
import { type Html, html } from '../html.ts'
import { type TableColumn, table } from '../table.ts'
import { nameCurrency, renderAmount } from './amounts.ts'
import { renderForeign } from './parts.ts'
import { renderParts } from './plots.ts'
import type { MoneyReading, Rows } from './read-money.ts'
import { chooseTrades } from './row-filter.ts'
import { renderCount, renderDownloads, renderMore } from './rows-frame.ts'
import { sumWorth, type Worth } from './sums.ts'
import type { MoneyViewOptions } from './view-options.ts'
import { describeFailure, renderTrouble } from './words.ts'

type BrokerReading = Extract<MoneyReading, { readonly category: 'brokerage' }>

export function renderBroker(options: MoneyViewOptions, { rows, holdings }: BrokerReading): Html {
  const { provider } = options.row
  return html`<h2>Holdings</h2>
${holdings.kind === 'failed' ? renderTrouble(describeFailure(holdings.error, provider)) : renderHoldings(holdings.body)}
<h2>Trades</h2>
${rows.kind === 'failed' ? renderTrouble(describeFailure(rows.error, provider)) : renderTrades(options, rows.body)}`
}

function renderHoldings(holdings: readonly Holding[]): Html {
  if (holdings.length === 0) return html`<p>There are no positions.</p>`
  return html`${table<Worth>('Value by currency', worthColumns, sumWorth(holdings))}
<h3>Positions</h3>
${table<Holding>('Positions', holdingColumns, holdings)}
${[...Map.groupBy(holdings, ({ currency }) => currency)].map(([currency, of]) => renderValues(currency, of))}`
}

const worthColumns: readonly TableColumn<Worth>[] = [
  { name: 'Currency', show: ({ currency }) => nameCurrency(currency) },
  {
    name: 'Value of the positions',
    className: 'sum',
    show: ({ value, currency, unknown }) =>
      html`${renderAmount(value, currency)}${unknown > 0 && html` <span class="trouble">and ${unknown} without a known value</span>`}`,
  },
]

const orDash = (value: Decimal | null, currency: string | null) =>
  value === null ? '—' : renderAmount(value, currency)

const holdingColumns: readonly TableColumn<Holding>[] = [
  {
    name: 'Symbol',
    show: ({ symbol, name }) =>
      html`${renderForeign(symbol, 40)}${name !== null && html` <small class="place">${renderForeign(name, 80)}</small>`}`,
  },
  { name: 'Units', className: 'sum', show: ({ quantity }) => renderAmount(quantity, null) },
  {
    name: 'Price',
    className: 'sum',
    show: ({ currentPrice, currency }) => orDash(currentPrice, currency),
  },
  {
    name: 'Value',
    className: 'sum',
    show: ({ marketValue, currency }) => orDash(marketValue, currency),
  },
  {
    name: 'Gain',
    className: 'sum',
    show: ({ unrealizedPnl, currency }) => orDash(unrealizedPnl, currency),
  },
]

function renderValues(currency: string, holdings: readonly Holding[]): Html | null {
  const parts = holdings
    .flatMap(({ marketValue: value, symbol }) =>
      value === null ? [] : [{ name: renderForeign(symbol, 40), value }],
    )
    .toSorted((one, other) => compare(other.value, one.value))
  if (parts.every(({ value }) => compare(value, zero) === 0)) return null
  return html`<h3>By value in ${nameCurrency(currency)}</h3>
${renderParts(`Positions in ${nameCurrency(currency)} by value`, 'Symbol', { parts, currency, look: 'worth' })}`
}

function renderTrades(options: MoneyViewOptions, rows: Rows<Trade>): Html {
  const shown = chooseTrades(rows.data, options.filter)
  return html`${renderCount(options, rows, shown.length)}
${shown.length > 0 && table<Trade>('Trades', tradeColumns, shown, 'rows')}
${renderMore(options, rows)}
${renderDownloads(options)}`
}

const tradeColumns: readonly TableColumn<Trade>[] = [
  { name: 'Date', show: ({ tradeDate }) => html`<time>${tradeDate.slice(0, 10)}</time>` },
  { name: 'Type', show: ({ type }) => type },
  {
    name: 'Symbol',
    show: ({ symbol, description }) =>
      html`${renderForeign(symbol, 40)}${description !== null && html` <small class="place">${renderForeign(description)}</small>`}`,
  },
  { name: 'Units', className: 'sum', show: ({ quantity }) => renderAmount(quantity, null) },
  {
    name: 'Price',
    className: 'sum',
    show: ({ price, currency }) => renderAmount(price, currency),
  },
  {
    name: 'Total',
    className: 'sum',
    show: ({ totalAmount, currency }) => renderAmount(totalAmount, currency),
  },
]

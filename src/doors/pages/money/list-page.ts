/** All accounts with their balances, by institution and by currency. Rendering only. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { add, type Decimal } from '#kernel/decimal.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { nameOf, pathOf, shownStatusOf } from '../connections/facts.ts'
import { type Html, html } from '../html.ts'
import { hidden, leadingButton } from '../layout.ts'
import { type TableColumn, table } from '../table.ts'
import { isNoCurrency, nameCurrency, renderAmount } from './amounts.ts'
import { renderForeign, renderRequests, renderSwitch, typeWords } from './parts.ts'
import type { BalancesReading, Money } from './read-balances.ts'
import { describeFailure } from './words.ts'

export interface MoneyInstitution {
  readonly row: ConnectionRow
  readonly accounts: readonly AccountRow[]
}

export interface MoneyOptions {
  readonly institutions: readonly MoneyInstitution[]
  /** Null: nothing was read, because nobody has asked for it. */
  readonly reading: BalancesReading | null
  readonly isHidden: boolean
  /** The origin of the API. */
  readonly base: string
}

/** This many rows are rendered in one turn of the event loop: others must not wait for a long page. */
const rowsInTurn = 200

export async function renderMoney(options: MoneyOptions): Promise<Html> {
  const { institutions, reading, isHidden, base } = options
  if (institutions.length === 0) {
    return html`<h1>Money</h1>
<p>Once you have linked a bank or broker, its accounts are here.</p>
<div class="actions">${leadingButton('/connections/new', 'Link a bank or broker')}</div>`
  }
  const shown: Html[] = []
  let rows = 0
  for (const institution of institutions) {
    shown.push(renderInstitution(institution, options))
    rows += institution.accounts.length + 1
    if (rows < rowsInTurn) continue
    await nextTurn()
    rows = 0
  }
  return html`<h1>Money</h1>
<p>Balances are read from your banks and brokers when you ask, and nothing of them is kept here.</p>
<div class="actions"><form method="get" action="/money" id="view">${hidden('show', '1')}<button type="submit"${reading !== null && html` class="outline"`}>${reading === null ? 'Show balances' : 'Read again'}</button></form></div>
${reading !== null && html`${renderSwitch(isHidden)}${renderTotals(institutions, reading)}`}
${shown}
${reading !== null && renderRequests(base, reading.asked)}`
}

interface Total {
  readonly currency: string
  readonly sum: Decimal
  readonly accounts: number
}

/** What is known, by currency: never added up over currencies. */
function addUp(institutions: readonly MoneyInstitution[], { money }: BalancesReading) {
  const totals = new Map<string, Total>()
  let unknown = 0
  const count = (currency: string, value: Decimal, id: string) => {
    // Points of two schemes are no more alike than two currencies.
    const unit = isNoCurrency(currency) ? id : currency
    const former = totals.get(unit)
    const sum = former === undefined ? value : add(former.sum, value)
    totals.set(unit, { currency, sum, accounts: (former?.accounts ?? 0) + 1 })
  }
  for (const account of institutions.flatMap(({ accounts }) => accounts)) {
    const one = money.get(account.id)
    if (one?.kind === 'bank') count(one.currency, one.current, account.id)
    else if (one?.kind === 'broker') {
      for (const { currency, value } of one.worth) count(currency, value, account.id)
      if (one.worth.some(({ unknown: positions }) => positions > 0)) unknown += 1
    } else unknown += 1
  }
  const sorted = [...totals.values()].toSorted((one, other) =>
    one.currency < other.currency ? -1 : 1,
  )
  return { totals: sorted, unknown }
}

function renderTotals(institutions: readonly MoneyInstitution[], reading: BalancesReading): Html {
  const { totals, unknown } = addUp(institutions, reading)
  return html`<h2>By currency</h2>
${
  unknown > 0 &&
  html`<p class="trouble"><strong>Not whole.</strong> ${unknown === 1 ? 'One account is' : `${unknown} accounts are`} not in these sums, or not wholly, because a value is not known; see below.</p>`
}
${
  totals.length > 0 &&
  table<Total>(
    'Sums by currency',
    [
      { name: 'Currency', show: ({ currency }) => nameCurrency(currency) },
      { name: 'Accounts', className: 'sum', show: ({ accounts }) => accounts },
      { name: 'Sum', className: 'sum', show: ({ sum, currency }) => renderAmount(sum, currency) },
    ],
    totals,
  )
}`
}

function renderInstitution(institution: MoneyInstitution, options: MoneyOptions): Html {
  const { row, accounts } = institution
  const { name, isBroken, sentence } = shownStatusOf(row)
  return html`<h2><a href="${pathOf(row)}" class="foreign">${nameOf(row)}</a></h2>
${isBroken && html`<p class="trouble"><strong>${name}.</strong> ${sentence}</p>`}
${accounts.length === 0 ? html`<p>No account of it is known yet.</p>` : table(`Accounts of ${nameOf(row)}`, listColumns(options), accounts, 'accounts')}`
}

function listColumns({ reading, isHidden }: MoneyOptions): readonly TableColumn<AccountRow>[] {
  const facts: readonly TableColumn<AccountRow>[] = [
    {
      name: 'Account',
      show: ({ id, name }) =>
        html`<a href="/money/${id}${isHidden && '?hide=1'}">${renderForeign(name, 80)}</a>`,
    },
    { name: 'Type', show: ({ type }) => typeWords[type] },
    { name: 'Number', show: ({ accountNumber }) => accountNumber ?? 'Not provided' },
  ]
  if (reading === null) return facts
  const balance: TableColumn<AccountRow> = {
    name: 'Balance',
    className: 'sum',
    show: (account) => renderBalance(reading.money.get(account.id), account),
  }
  return [
    ...facts,
    balance,
    {
      name: 'Available',
      className: 'sum',
      show: ({ id }) => {
        const one = reading.money.get(id)
        return one?.kind === 'bank' && one.available !== null
          ? renderAmount(one.available, one.currency)
          : '—'
      },
    },
  ]
}

/** What is not known is said, and never looks like an amount. */
export function renderBalance(money: Money | undefined, { provider }: AccountRow): Html {
  if (money === undefined || money.kind === 'untold') {
    return html`<span class="trouble"><strong>Not known.</strong> It could not be read now.</span>`
  }
  switch (money.kind) {
    case 'bank':
      return renderAmount(money.current, money.currency)
    case 'failed':
      return html`<span class="trouble"><strong>Not known.</strong> ${describeFailure(money.error, provider)}</span>`
    default:
      if (money.worth.length === 0) return html`No positions`
      return html`${money.worth.map(({ currency, value, unknown }) => html`<span class="place">${renderAmount(value, currency)}${unknown > 0 && html` <span class="trouble">and ${unknown} without a known value</span>`}</span>`)}`
  }
}

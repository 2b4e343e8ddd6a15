/** One connection: state, accounts, what is shared, recent syncs, what can be done. Rendering only. */

import { type ConnectionOverview, pictureDays, type RunDays } from '#connections/overview.ts'
import type { RenewalMethod } from '#connections/renewal.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { SyncRunRow } from '#store/ports/syncs.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, doneBox, field, hidden, leadingButton } from '../layout.ts'
import { renderDayAt, renderMoment } from '../moments.ts'
import { typeWords } from '../money/parts.ts'
import { type TableColumn, table } from '../table.ts'
import { type FirstSteps, renderFirstSteps } from '../welcome/first-steps.ts'
import {
  currentFailureOf,
  nameOf,
  pathOf,
  renderFreshness,
  renderNext,
  renderOutlook,
  renderReconnect,
  renderState,
  shownStatusOf,
} from './facts.ts'
import { renderPicture } from './picture.ts'
import { describeReason, describeRun, describeSyncFailure } from './words.ts'

export const connectionDone = {
  checked:
    'Consent and accounts were read just now. A sync begins within a minute; its result is listed below.',
  lost: 'It was read just now. What it needs is said below.',
  asked:
    'Its provider takes long to answer. It is still being asked, for a minute or so; then a sync begins, and its result is listed below. This page looks again by itself.',
  soon: 'It was read less than a minute ago. Wait a moment before you refresh it again.',
  linked: 'Linked. Transactions arrive within a minute.',
  reconnected: 'Reconnected. The ids are the same as before.',
  named: 'Saved.',
  kept: 'Nothing was changed.',
} as const

export interface ConnectionOptions {
  readonly overview: ConnectionOverview
  readonly accounts: readonly AccountRow[]
  /** Newest first. */
  readonly runs: readonly SyncRunRow[]
  readonly days: RunDays
  readonly renewal: RenewalMethod
  readonly zone: string
  readonly now: number
  readonly formToken: string
  readonly done: keyof typeof connectionDone | null
  /** Why something that was asked for could not be done. */
  readonly message: string | null
  /** What a newcomer does next, after the first link; null: nothing. */
  readonly steps: FirstSteps | null
  /** What the form of the name shows; null: the connection has none. */
  readonly label: string | null
  /** What is wrong with the name that was given; null: nothing. */
  readonly labelProblem: string | null
}

export function renderConnection(options: ConnectionOptions): Html {
  const { overview, done, message, zone } = options
  const { row } = overview
  const status = shownStatusOf(row)
  const failure = status.isBroken ? null : currentFailureOf(overview)
  return html`<p><a href="/connections">All connections</a></p>
<h1><span class="foreign">${nameOf(row)}</span></h1>
${doneBox(done && [connectionDone[done], done === 'checked' && describeRate(row)])}
${alertBox(message)}
${options.steps !== null && renderFirstSteps(options.steps)}
<p>${renderState(overview)}. ${failure === null ? status.sentence : html`${describeSyncFailure(failure.code, row.provider)} ${renderRetry(options)}`}</p>
${renderActions(options)}
<dl class="facts">
${row.label !== null && html`<dt>Institution</dt><dd class="foreign">${foreignText(row.institutionName)}</dd>`}
<dt>Provider</dt><dd>${factsOf(row.provider).name}</dd>
<dt>Linked</dt><dd>${renderMoment(row.createdAt, zone)}</dd>
${renderFreshness(overview, options)}
${renderOutlook(overview, options)}
</dl>
<h2>Accounts</h2>
${renderAccounts(options.accounts)}
${renderShared(overview)}
<h2>Your name for it</h2>
${renderLabel(options)}
<h2>Syncs</h2>
${renderRuns(options)}`
}

/** When a failing sync is tried again. */
function renderRetry(options: ConnectionOptions): Html {
  return html`Next attempt: ${renderNext(options.overview, options)}.`
}

/** Where a refresh cannot bring new rows each time. */
function describeRate({ provider }: ConnectionOverview['row']): string | false {
  const { name, scheduledReadHours: hours } = factsOf(provider)
  return hours !== null && ` ${name} is asked for new rows once in ${hours} hours.`
}

function renderActions(options: ConnectionOptions): Html {
  const { overview, renewal, formToken } = options
  const { row } = overview
  const refresh = html`<form method="post" action="${pathOf(row)}/refresh">${hidden('token', formToken)}<button type="submit" class="outline secondary">Refresh</button></form>`
  return html`<div class="actions">
${renderReconnect({ row, renewal, formToken })}
${refresh}
${leadingButton(`${pathOf(row)}/remove`, 'Remove', { look: 'outline danger' })}
</div>`
}

function renderAccounts(accounts: readonly AccountRow[]): Html {
  if (accounts.length === 0) {
    return html`<p>No account is known yet. Some banks take a few minutes after linking; refresh the page then.</p>`
  }
  return table('Accounts', accountColumns, accounts)
}

/** For the pages alone: programs see the institution. */
function renderLabel({
  overview: { row },
  label,
  labelProblem,
  formToken,
}: ConnectionOptions): Html {
  return html`<form method="post" action="${pathOf(row)}" novalidate class="narrow">
${hidden('token', formToken)}
${field({ name: 'label', label: 'Name', type: 'text', autocomplete: 'off', value: label ?? '', isOptional: true, hint: 'Shown on these pages in place of the institution', problem: labelProblem ?? undefined, autofocus: labelProblem !== null })}
<button type="submit" class="secondary outline">Save</button>
</form>`
}

/** ISO 4217 for what has no currency, such as points of a loyalty scheme. */
const noCurrency = 'XXX'

const accountColumns: readonly TableColumn<AccountRow>[] = [
  { name: 'Name', show: ({ name }) => html`<span class="foreign">${foreignText(name)}</span>` },
  { name: 'Type', show: ({ type }) => typeWords[type] },
  { name: 'Number', show: ({ accountNumber }) => accountNumber ?? 'Not provided' },
  {
    name: 'Currency',
    show: ({ currency }) => (currency === noCurrency ? 'none' : foreignText(currency)),
  },
]

function renderShared({ row }: ConnectionOverview): Html {
  const isBank = factsOf(row.provider).category === 'banking'
  const what = isBank ? 'balances and transactions' : 'holdings and trades'
  return html`<p>Programs with one of your keys and agents that you allowed can read these accounts with their ${what}. None of that is stored here, and nothing can be paid or changed.</p>`
}

function renderRuns({ overview, runs, days, zone }: ConnectionOptions): Html {
  const { row } = overview
  const counts = days.counts.get(row.id)
  if (runs.length === 0) return html`<p>None has ended yet.</p>`
  return html`${renderPicture(counts, pictureDays)}
${counts !== undefined && renderDays(days, counts, zone)}
${table<SyncRunRow>(
  'Recent syncs',
  [
    { name: 'Begun', show: ({ startedAt }) => renderMoment(startedAt, zone) },
    { name: 'Why', show: ({ reason }) => describeReason(reason) },
    { name: 'Result', isPlain: true, show: (run) => describeRun(run, row.provider) },
  ],
  runs,
)}`
}

/** The picture as a table; days without a run are left out. */
function renderDays(
  { days }: RunDays,
  counts: NonNullable<ReturnType<RunDays['counts']['get']>>,
  zone: string,
): Html {
  const shown = days.flatMap((day, index) => {
    const { succeeded = 0, failed = 0 } = counts[index] ?? {}
    if (succeeded + failed === 0) return []
    return html`<tr><th scope="row">${renderDayAt(day, zone)}</th><td>${succeeded}</td><td>${failed}</td></tr>`
  })
  return html`<details><summary>The last ${pictureDays} days as a table</summary>
<table class="plain"><thead><tr><th scope="col">Day</th><th scope="col">Succeeded</th><th scope="col">Failed</th></tr></thead><tbody>${shown.toReversed()}</tbody></table></details>`
}

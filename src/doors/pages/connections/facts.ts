/** What pages show of one connection: state, freshness by kind, next sync, button. Rendering only. */
import type { ConnectionOverview } from '#connections/overview.ts'
import type { RenewalMethod } from '#connections/renewal.ts'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden } from '../layout.ts'
import { renderMoment } from '../moments.ts'
import { describeStatus, describeSyncFailure, type StatusWords } from './words.ts'

export const pathOf = ({ id }: Pick<ConnectionRow, 'id'>) => `/connections/${id}`

export const nameOf = ({ institutionName }: ConnectionRow) =>
  foreignText(hideNumberShapes(institutionName))

/** A connection that is being deleted is on no page. */
export function shownStatusOf({ provider, status }: ConnectionRow): StatusWords {
  return describeStatus({ provider, status: status === 'deleting' ? 'revoked' : status })
}

/** The last error as far as it still counts: a lost consent is over where the consent is active again. */
export function currentFailureOf({ row, failure }: ConnectionOverview) {
  return row.status === 'active' && failure?.code === 'consent_lost' ? null : failure
}

/** The state in one word, the same in all places; what needs somebody stands out. */
export function renderState(overview: ConnectionOverview): Html {
  const { name, isBroken } = shownStatusOf(overview.row)
  if (isBroken) return html`<strong class="trouble">${name}</strong>`
  if (currentFailureOf(overview) === null) return html`${name}`
  return html`<strong class="trouble">Sync failing</strong>`
}

/** When, or what is said instead. */
const at = (ms: number | null, zone: string, otherwise: string) =>
  ms === null ? otherwise : renderMoment(ms, zone)

/** How fresh each kind of data is. Balances and rows are read from the provider when a program asks. */
export function renderFreshness(overview: ConnectionOverview, zone: string): Html {
  const { row, accounts, lastSuccessAt, rowsReadAt } = overview
  const isBank = factsOf(row.provider).category === 'banking'
  return html`<dt>Accounts</dt><dd>${accounts}, ${lastSuccessAt === null ? renderUnchecked(overview, zone) : html`checked ${renderMoment(lastSuccessAt, zone)}`}</dd>
<dt>${isBank ? 'Balances, transactions' : 'Holdings, trades'}</dt><dd>${row.lastRefreshedAt === null ? 'read when a program asks' : html`as of ${renderMoment(row.lastRefreshedAt, zone)}`}</dd>
${rowsReadAt !== null && html`<dt>New rows for events</dt><dd>looked for ${renderMoment(rowsReadAt, zone)}</dd>`}`
}

/** Linking itself reads the accounts; the first sync follows within a minute. */
function renderUnchecked({ row, failure, isSyncing }: ConnectionOverview, zone: string): Html {
  if (isSyncing) return html`first check in progress`
  if (failure !== null) return html`not checked in the last 30 days`
  return html`read when you linked it, ${renderMoment(row.createdAt, zone)}`
}

/** The next sync alone, for a list. */
export function renderNext({ nextSyncAt, isSyncing }: ConnectionOverview, zone: string) {
  return isSyncing ? 'in progress' : at(nextSyncAt, zone, 'not planned')
}

/** The next sync, the end of the consent, the last error. */
export function renderOutlook(
  overview: ConnectionOverview,
  { zone, now }: { readonly zone: string; readonly now: number },
): Html {
  const { row, lastSuccessAt } = overview
  const failure = currentFailureOf(overview)
  const { consentExpiresAt: end } = row
  return html`<dt>Next sync</dt><dd>${renderNext(overview, zone)}</dd>
${end !== null && html`<dt>Consent</dt><dd>${end <= now ? 'ended' : 'ends'} ${renderMoment(end, zone)}</dd>`}
${
  failure !== null &&
  html`<dt>Last success</dt><dd>${at(lastSuccessAt, zone, 'none in the last 30 days')}</dd>
<dt class="wide">Last error</dt><dd class="wide">${renderMoment(failure.at, zone)}: ${describeSyncFailure(failure.code, row.provider)}</dd>`
}`
}

interface MendOptions {
  readonly row: ConnectionRow
  readonly renewal: RenewalMethod
  readonly formToken: string
}

/** The button that mends a connection, or who does. */
export function renderReconnect({ row, renewal, formToken }: MendOptions): Html {
  const target = `${pathOf(row)}/reconnect`
  const main = shownStatusOf(row).isBroken ? html`` : html` class="outline secondary"`
  switch (renewal) {
    case 'browser':
      return html`<form method="post" action="${target}">${hidden('token', formToken)}<button type="submit"${main} aria-label="Reconnect ${nameOf(row)}">Reconnect</button></form>`
    case 'key':
      return html`<form method="get" action="${target}"><button type="submit"${main} aria-label="Reconnect ${nameOf(row)}">Reconnect</button></form>`
    case 'operator':
      return html`${shownStatusOf(row).isBroken && html`<p>The operator of this server links it again for you.</p>`}`
    default:
      return unreachable(renewal)
  }
}

/** What pages show of one connection: state, freshness by kind, next sync, button. Rendering only. */
import { type ConnectionOverview, pictureDays } from '#connections/overview.ts'
import type { RenewalMethod } from '#connections/renewal.ts'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { dayMs } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden, leadingButton } from '../layout.ts'
import { renderAgo, renderMoment } from '../moments.ts'
import { describeStatus, describeSyncFailure, type StatusWords } from './words.ts'

export const pathOf = ({ id }: Pick<ConnectionRow, 'id'>) => `/connections/${id}`

/** The owner's own name for it, or that of the institution. */
export const nameOf = ({
  label,
  institutionName,
}: Pick<ConnectionRow, 'label' | 'institutionName'>) =>
  foreignText(label ?? hideNumberShapes(institutionName))

/** A connection that is being deleted is on no page. */
export function shownStatusOf({ provider, status }: ConnectionRow): StatusWords {
  return describeStatus({ provider, status: status === 'deleting' ? 'revoked' : status })
}

/** The last error as far as it still counts: a lost consent is over where the consent is active again. */
export function currentFailureOf({ row, failure }: ConnectionOverview) {
  return row.status === 'active' && failure?.code === 'consent_lost' ? null : failure
}

/** A throttled sync is retried automatically; the owner cannot help. */
function isSyncFailing(overview: ConnectionOverview): boolean {
  const failure = currentFailureOf(overview)
  return failure !== null && failure.code !== 'throttled'
}

/** It is broken, or its syncs fail: its owner has to know. */
export const needsOwner = (overview: ConnectionOverview): boolean =>
  shownStatusOf(overview.row).isBroken || isSyncFailing(overview)

/** The state in one word, the same in all places; what needs somebody stands out. */
export function renderState(overview: ConnectionOverview): Html {
  const { name, isBroken } = shownStatusOf(overview.row)
  if (isBroken) return html`<strong class="trouble">${name}</strong>`
  if (!isSyncFailing(overview)) return html`${name}`
  return html`<strong class="trouble">Sync failing</strong>`
}

/** Where and when a page is read. */
export interface ReadAt {
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly now: number
}

/** When, or what is said instead. */
const at = (ms: number | null, { zone, now }: ReadAt, otherwise: string) =>
  ms === null ? otherwise : renderAgo(ms, zone, now)

/** How fresh each kind of data is. Balances and rows are read from the provider when a program asks. */
export function renderFreshness(overview: ConnectionOverview, readAt: ReadAt): Html {
  const { zone, now } = readAt
  const { row, accounts, lastSuccessAt, rowsReadAt } = overview
  const { category, olderRows } = factsOf(row.provider)
  const isBank = category === 'banking'
  return html`<dt>Accounts</dt><dd>${accounts}, ${lastSuccessAt === null ? renderUnchecked(overview, readAt) : html`checked ${renderAgo(lastSuccessAt, zone, now)}`}</dd>
<dt>${isBank ? 'Balances, transactions' : 'Holdings, trades'}</dt><dd>${row.lastRefreshedAt === null ? 'Read on request' : html`as of ${renderAgo(row.lastRefreshedAt, zone, now)}`}</dd>
${rowsReadAt !== null && html`<dt>New rows for events</dt><dd>looked for ${renderAgo(rowsReadAt, zone, now)}</dd>`}
${olderRows !== undefined && html`<dt class="wide">How far back</dt><dd class="wide">${toSentence(olderRows.words)}</dd>`}`
}

const toSentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`

/** Linking itself reads the accounts; the first sync follows within a minute. */
function renderUnchecked(
  { row, failure, isSyncing }: ConnectionOverview,
  { zone, now }: ReadAt,
): Html {
  if (isSyncing) return html`first check in progress`
  if (failure !== null) {
    return now - row.createdAt < pictureDays * dayMs
      ? html`no check has succeeded yet`
      : html`not checked in the last 30 days`
  }
  return html`read when you linked it, ${renderAgo(row.createdAt, zone, now)}`
}

/** When the consent ends or ended; null: unknown, or it was withdrawn before. */
export function expiryOf(row: ConnectionRow, now: number): number | null {
  const { consentExpiresAt: end } = row
  return end === null || (shownStatusOf(row).isBroken && end > now) ? null : end
}

/** The next sync alone, for a list. A broken connection waits for its owner. */
export function renderNext(overview: ConnectionOverview, readAt: ReadAt) {
  const { row, nextSyncAt, isSyncing } = overview
  if (shownStatusOf(row).isBroken) return '—'
  return isSyncing ? 'in progress' : at(nextSyncAt, readAt, 'not planned')
}

/** The next sync, the end of the consent, the last error. */
export function renderOutlook(overview: ConnectionOverview, readAt: ReadAt): Html {
  const { zone, now } = readAt
  const { row, lastSuccessAt } = overview
  const failure = currentFailureOf(overview)
  const end = expiryOf(row, now)
  return html`${!shownStatusOf(row).isBroken && html`<dt>Next sync</dt><dd>${renderNext(overview, readAt)}</dd>`}
${end !== null && html`<dt>Consent</dt><dd>${end <= now ? 'ended' : 'ends'} ${renderMoment(end, zone)}</dd>`}
${
  failure !== null &&
  html`<dt>Last success</dt><dd>${at(lastSuccessAt, readAt, 'none in the last 30 days')}</dd>
<dt class="wide">Last error</dt><dd class="wide">${renderAgo(failure.at, zone, now)}: ${describeSyncFailure(failure.code, row.provider)}</dd>`
}`
}

interface MendOptions {
  readonly row: ConnectionRow
  readonly renewal: RenewalMethod
  readonly formToken: string
}

/** The button that repairs a connection, or a sentence that says who repairs it. */
export function renderReconnect({ row, renewal, formToken }: MendOptions): Html {
  const target = `${pathOf(row)}/reconnect`
  const look = shownStatusOf(row).isBroken ? '' : 'outline secondary'
  switch (renewal) {
    case 'browser':
      return html`<form method="post" action="${target}">${hidden('token', formToken)}<button type="submit" class="${look}" aria-label="Reconnect ${nameOf(row)}">Reconnect</button></form>`
    case 'key':
      return leadingButton(target, 'Reconnect', { look, label: `Reconnect ${nameOf(row)}` })
    case 'operator':
      return html`${shownStatusOf(row).isBroken && html`<p>The operator of this server links it again for you.</p>`}`
    default:
      return unreachable(renewal)
  }
}

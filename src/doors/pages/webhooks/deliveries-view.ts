/** The deliveries of an endpoint: search, list, and the form that sends a time again. Rendering only. */
import { unreachable } from '#kernel/unreachable.ts'
import type { AttemptRow, DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, field, hidden } from '../layout.ts'
import { renderInstant } from '../moments.ts'
import { table } from '../table.ts'

/** What a search can ask for, and the states that it means. */
export const deliverySearches = {
  failed: { name: 'Failed', states: ['exhausted', 'missed'] },
  pending: { name: 'Waiting', states: ['pending'] },
  succeeded: { name: 'Delivered', states: ['succeeded'] },
} as const satisfies Readonly<
  Record<string, { readonly name: string; readonly states: readonly DeliveryRow['status'][] }>
>

export interface DeliverySearch {
  /** Null: all. */
  readonly state: keyof typeof deliverySearches | null
  /** A day, `YYYY-MM-DD`; empty: from the beginning. */
  readonly from: string
}

interface Options {
  readonly endpoint: EndpointRow
  readonly deliveries: readonly DeliveryRow[]
  readonly search: DeliverySearch
  /** The path of older deliveries; null: there are none. */
  readonly older: string | null
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly formToken: string
}

/** Nothing was sent: there is no delivery, and none was searched for. */
export function isUntried({
  deliveries,
  search,
  older,
}: Pick<Options, 'deliveries' | 'search' | 'older'>): boolean {
  const isSearch = search.state !== null || search.from !== ''
  return deliveries.length === 0 && !isSearch && older === null
}

export function renderDeliveries(options: Options): Html {
  const { deliveries, older } = options
  if (isUntried(options)) {
    return html`<p>Nothing was sent yet. Send a test event to see whether your receiver takes it.</p>`
  }
  return html`${renderSearch(options)}
${deliveries.length === 0 ? html`<p>No delivery matches.</p>` : renderTable(options)}
${older !== null && html`<p><a href="${older}">Older deliveries</a></p>`}`
}

function renderSearch({ endpoint, search }: Options): Html {
  const choices = Object.entries(deliverySearches)
  return html`<form method="get" action="/webhooks/${endpoint.id}" class="filters">
<div><label for="state">State</label>
<select id="state" name="state"><option value="">All</option>${choices.map(([value, { name }]) => html`<option value="${value}"${value === search.state && html` selected`}>${name}</option>`)}</select></div>
<div><label for="from">From</label>
<input id="from" name="from" type="date" value="${search.from}"></div>
<button type="submit" class="outline">Search</button>
</form>`
}

function renderTable({ endpoint, deliveries, formToken, zone }: Options): Html {
  return table<DeliveryRow>(
    'Deliveries',
    [
      {
        name: 'Event',
        show: (row) =>
          html`${renderInstant(row.createdAt, zone)} <small class="place"><a href="/webhooks/${endpoint.id}/deliveries/${row.id}">${row.type}</a>${row.isReplay && ' (replayed)'}${row.isTest && ' (test event)'}</small> <small class="place"><code>${row.eventId}</code></small>`,
      },
      { name: 'State', show: (row) => describeDelivery(row, zone) },
      { name: 'Attempts', isPlain: true, show: ({ attempts }) => renderAttempts(attempts, zone) },
      { name: 'Replay', isPlain: true, show: (row) => renderReplay(endpoint, row, formToken) },
    ],
    deliveries,
  )
}

/** Every event of a time, e.g. after an outage of the receiver. */
export function renderRange({
  endpoint,
  formToken,
  rangeProblem,
}: Pick<Options, 'endpoint' | 'formToken'> & { readonly rangeProblem: string | null }): Html {
  if (endpoint.health === 'disabled') {
    return html`<p>Enable the endpoint first; then what it missed can be sent again.</p>`
  }
  return html`${alertBox(rangeProblem, { hasFocus: true })}
<p>Every event that was accepted on these days is sent again, at most 10,000, while its payload is kept.</p>
<form method="post" action="/webhooks/${endpoint.id}/replay" class="filters">${hidden('token', formToken)}
${field({ name: 'firstDay', label: 'First day', type: 'date', autocomplete: 'off' })}
${field({ name: 'lastDay', label: 'Last day', type: 'date', autocomplete: 'off' })}
<button type="submit" class="outline secondary">Send these days again</button></form>`
}

export function renderReplay({ id, health }: EndpointRow, row: DeliveryRow, formToken: string) {
  if (row.status === 'pending' || health === 'disabled') return null
  return html`<form method="post" action="/webhooks/${id}/deliveries/${row.id}/replay">${hidden('token', formToken)}<button type="submit" class="outline secondary" aria-label="Send again: event ${row.eventId}">Send again</button></form>`
}

export function renderAttempts(attempts: readonly AttemptRow[], zone: string): Html | string {
  if (attempts.length === 0) return 'none yet'
  return html`<ol class="attempts">${attempts.map((attempt) => renderAttempt(attempt, zone))}</ol>`
}

export function describeDelivery({ status, dueAt }: DeliveryRow, zone: string): Html | string {
  switch (status) {
    case 'pending':
      return dueAt === null
        ? 'waiting for an earlier event'
        : html`next attempt ${renderInstant(dueAt, zone)}`
    case 'succeeded':
      return 'delivered'
    case 'exhausted':
      return 'failed for good'
    case 'missed':
      return 'not sent: the endpoint was disabled'
    default:
      return unreachable(status)
  }
}

function renderAttempt(
  { at, status, failure, durationMs, response }: AttemptRow,
  zone: string,
): Html {
  const answer = response === null || response === '' ? null : foreignText(response, 200)
  return html`<li>${renderInstant(at, zone)}: ${failure ?? html`${status}, accepted`}, ${durationMs} ms${answer !== null && html`<small class="place">Answer: <span class="answer">${answer}</span></small>`}</li>`
}

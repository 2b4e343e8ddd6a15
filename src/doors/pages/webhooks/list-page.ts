/** The list of webhook endpoints, with the form for a new one. Rendering only. */
import { makeOnce } from '#auth/sign-in/repeated-form.ts'
import { connectionEventTypes, type EventType, syncEventTypes } from '#contract/events.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { formUnderWay } from '../done-notes.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, doneBox, field, hidden } from '../layout.ts'
import { type TableColumn, table } from '../table.ts'
import { describeHealth } from './health.ts'

/** The values of the form as given, and what is wrong with them. */
export interface EndpointDraft {
  readonly url: string
  readonly events: readonly string[]
  readonly skipEmpty: boolean
  readonly pending: boolean
  readonly problems: Readonly<Partial<Record<'url' | 'events', string>>>
  readonly message: string | null
}

export const endpointsDone = {
  removed: 'The endpoint is removed. Nothing is sent to it any more.',
  gone: 'That endpoint does not exist. It was removed, or the address is wrong.',
  repeated:
    'That form was sent twice, and only the first one counted. A secret that you did not see can be replaced on the page of its endpoint.',
  under_way: formUnderWay,
} as const

export interface EndpointsOptions {
  readonly endpoints: readonly EndpointRow[]
  readonly formToken: string
  readonly draft: EndpointDraft
  /** The password was given in the last ten minutes: only then the form is shown. */
  readonly mayCreate: boolean
  readonly done: keyof typeof endpointsDone | null
}

const eventWords: Readonly<Record<EventType, string>> = {
  'transactions.synced': 'Transactions of banks',
  'trades.synced': 'Trades of brokers',
  'connection.linked': 'Connection linked',
  'connection.expiring': 'Consent ends soon',
  'connection.invalidated': 'Reconnection needed',
  'connection.revoked': 'Consent withdrawn',
  'connection.restored': 'Connection restored',
  'connection.removed': 'Connection removed',
}

export function renderEndpoints(options: EndpointsOptions): Html {
  const { endpoints } = options
  return html`<h1>Webhooks</h1>
${doneBox(options.done && endpointsDone[options.done])}
<p>After every sync, new and changed rows are posted to these addresses, signed; changes of connections where you choose them. <a href="https://www.standardwebhooks.com" rel="noreferrer">Standard Webhooks</a> describes the signature. A program without a public address <a href="/events">fetches them</a>.</p>
${endpoints.length === 0 ? html`<p>You have no endpoint. With the first one, the service begins to recognise new rows; the first events report the last 90 days.</p>` : table('Endpoints', columns, endpoints)}
${renderNew(options)}`
}

const columns: readonly TableColumn<EndpointRow>[] = [
  {
    name: 'Address',
    show: (endpoint) =>
      html`<a href="/webhooks/${endpoint.id}" class="foreign">${showUrl(endpoint)}</a>`,
  },
  { name: 'Receives', show: showEvents },
  { name: 'State', show: renderHealth },
]

/** What needs somebody stands out, as on the overview. */
function renderHealth(endpoint: EndpointRow): Html {
  const { name } = describeHealth(endpoint)
  const { url, health, disabledReason } = endpoint
  return url !== '' && (health === 'healthy' || disabledReason === 'owner')
    ? html`${name}`
    : html`<strong class="trouble">${name}</strong>`
}

/** Where there is little room: without the scheme. */
export const shortUrl = (endpoint: EndpointRow): string =>
  showUrl(endpoint).replace(/^https?:\/\//, '')

/** The address as text; it may hold a token of the receiver, which its owner may see. */
export function showUrl({ url }: EndpointRow): string {
  return url === '' ? 'cannot be decrypted' : foreignText(url, 200)
}

export function showEvents({ events, skipEmpty, pending }: EndpointRow): string {
  const words = events.map((type) => eventWords[type]).join(', ')
  const more = pending ? '; pending rows, too' : ''
  return `${words}${more}${skipEmpty ? '; not when nothing is new' : ''}`
}

function renderNew({ draft, formToken, mayCreate }: EndpointsOptions): Html {
  if (!mayCreate) {
    return html`<h2>New endpoint</h2>
<p><a href="/sign-in?return=%2Fwebhooks">Confirm your password</a> to add one.</p>`
  }
  const { problems } = draft
  return html`<h2>New endpoint</h2>
${alertBox(draft.message, { hasFocus: true })}
<form method="post" action="/webhooks" novalidate class="narrow">
${hidden('token', formToken)}${hidden('once', makeOnce())}
${field({ name: 'url', label: 'Address', type: 'url', autocomplete: 'off', value: draft.url, hint: 'The URL of your receiver, e.g. https://example.com/hook', problem: problems.url })}
<fieldset class="field"${problems.events !== undefined && html` aria-describedby="events-problem"`}>
<legend>Receives</legend>
${syncEventTypes.map((type) => eventBox(type, draft))}
<p>Changes of connections:</p>
${connectionEventTypes.map((type) => eventBox(type, draft))}
${problems.events !== undefined && html`<small class="problem" id="events-problem">Choose at least one</small>`}
</fieldset>
<div class="field">
<label><input type="checkbox" name="skipEmpty" value="true"${draft.skipEmpty && html` checked`}>Send nothing when a sync finds no new and no changed row</label>
<label><input type="checkbox" name="pending" value="true"${draft.pending && html` checked`}>Pending transactions of banks, too</label>
</div>
<button type="submit">Add the endpoint</button>
</form>`
}

function eventBox(type: EventType, { events }: EndpointDraft): Html {
  return html`<label><input type="checkbox" name="events" value="${type}"${events.includes(type) && html` checked`}>${eventWords[type]} <code>${type}</code></label>`
}

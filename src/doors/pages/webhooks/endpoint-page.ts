/** One endpoint: state, what can be done, deliveries; the questions before a change. Rendering only. */
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { type Html, html } from '../html.ts'
import { alertBox, doneBox, hidden, leadingButton } from '../layout.ts'
import { renderMoment } from '../moments.ts'
import { renderQuestion } from '../question.ts'
import { type DeliverySearch, isUntried, renderDeliveries, renderRange } from './deliveries-view.ts'
import { describeHealth } from './health.ts'
import { type AttemptsShown, renderHours } from './hours.ts'
import { showEvents, showUrl } from './list-page.ts'
import { type ReceiverExample, renderReceivers } from './receivers.ts'

export const endpointDone = {
  created: 'The endpoint is added.',
  rotated: 'The secret is replaced. For 24 hours events are signed with the former one too.',
  replaced:
    'The secret is replaced. The former one cannot be decrypted any more and signs nothing.',
  enabled: 'The endpoint is enabled. Waiting events are sent at once.',
  disabled: 'The endpoint is disabled. Nothing is sent until you enable it.',
  tested: 'A test event was made.',
  replayed: 'The event is sent again.',
  ranged: 'The events of that time are sent again.',
  empty: 'No event of that time is for this endpoint, so nothing is sent again.',
  kept: 'Nothing was changed.',
} as const

export interface EndpointPageOptions {
  readonly endpoint: EndpointRow
  readonly deliveries: readonly DeliveryRow[]
  readonly search: DeliverySearch
  /** The path of older deliveries; null: there are none. */
  readonly older: string | null
  /** The attempts of the last 24 hours. */
  readonly attempts: AttemptsShown
  readonly receivers: readonly ReceiverExample[]
  /** What is wrong with the time that was to be sent again; null: nothing. */
  readonly rangeProblem: string | null
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly now: number
  readonly formToken: string
  readonly done: keyof typeof endpointDone | null
  /** Why something that was asked for could not be done. */
  readonly message: string | null
  /** The secret, shown this once. */
  readonly secret: string | null
  /** The delivery of a test event that was sent just now; null: none was. */
  readonly test: DeliveryRow | null
}

export function renderEndpoint(options: EndpointPageOptions): Html {
  const { endpoint, message, secret } = options
  const health = describeHealth(endpoint, isUntried(options))
  return html`<p><a href="/webhooks">All endpoints</a></p>
<h1><span class="foreign">${showUrl(endpoint)}</span></h1>
${renderDone(options)}
${alertBox(message)}
${secret !== null && renderSecret(secret)}
<dl class="facts">
<dt>State</dt><dd><strong>${health.name}</strong>. ${health.sentence}</dd>
<dt>Receives</dt><dd>${showEvents(endpoint)}</dd>
<dt>Added</dt><dd>${renderMoment(endpoint.createdAt, options.zone)}</dd>
</dl>
${renderActions(options)}
<h2>Deliveries</h2>
${renderHours(options.attempts, options)}
${renderDeliveries(options)}
<h2>Send again what was sent before</h2>
${renderRange(options)}
<h2>A receiver to copy</h2>
${renderReceivers(endpoint, options.receivers)}`
}

/** A test event that the receiver refused is a problem, not a success. */
function renderDone({ done, test }: EndpointPageOptions): Html | null {
  if (done !== 'tested' || test === null) return doneBox(done && endpointDone[done])
  const isRefused = (test.attempts.at(-1)?.failure ?? null) !== null
  return isRefused ? alertBox(describeTest(test)) : doneBox(describeTest(test))
}

/** What became of a test event, as far as it is known. */
function describeTest({ attempts }: DeliveryRow): string {
  const attempt = attempts.at(-1)
  if (attempt === undefined) return 'The test event was not sent yet: it is marked below.'
  const { status, failure, durationMs } = attempt
  return failure === null
    ? `Your receiver accepted the test event: ${status}, after ${durationMs} ms.`
    : `Your receiver did not accept the test event: ${failure}. It is tried again.`
}

function renderSecret(secret: string): Html {
  return html`<section class="card once" aria-labelledby="secret-heading">
<h2 id="secret-heading">The signing secret</h2>
<p>It is shown this once. Give it to your receiver, which verifies every event with it.</p>
<p><output name="secret" data-copy="the secret">${secret}</output></p>
</section>`
}

function renderActions({ endpoint, formToken }: EndpointPageOptions): Html {
  const isDisabled = endpoint.health === 'disabled'
  const isDamaged = endpoint.url === ''
  const post = (verb: string, text: string) =>
    html`<form method="post" action="/webhooks/${endpoint.id}/${verb}">${hidden('token', formToken)}<button type="submit" class="outline secondary">${text}</button></form>`
  const ask = (verb: string, text: string) =>
    leadingButton(`/webhooks/${endpoint.id}/${verb}`, text, {
      look: verb === 'remove' ? 'outline danger' : 'outline secondary',
    })
  return html`<div class="actions">
${!isDisabled && !isDamaged && post('test', 'Send a test event')}
${isDisabled ? post('enable', 'Enable') : post('disable', 'Disable')}
${!isDamaged && ask('rotate', 'Replace the secret')}
${ask('remove', 'Remove')}
</div>`
}

/** What the page asks before a change that cannot be undone. */
export type EndpointQuestion = 'rotate' | 'remove'

const questions = {
  rotate: {
    title: 'Replace the secret?',
    sentence:
      'A new secret is made and shown once. For 24 hours events are signed with the former one too, so that your receiver can change over.',
    button: 'Replace the secret',
  },
  remove: {
    title: 'Remove this endpoint?',
    sentence:
      'Nothing is sent to it any more, and its deliveries are deleted. With your last endpoint the service also forgets which rows it has seen.',
    button: 'Remove the endpoint',
  },
} as const satisfies Readonly<Record<EndpointQuestion, unknown>>

export function titleOf(question: EndpointQuestion): string {
  return questions[question].title
}

export function renderEndpointQuestion(
  question: EndpointQuestion,
  endpoint: EndpointRow,
  formToken: string,
): Html {
  const { title, sentence, button } = questions[question]
  return renderQuestion({
    heading: title,
    sentences: html`<p><span class="foreign">${showUrl(endpoint)}</span></p>
<p>${sentence}</p>`,
    path: `/webhooks/${endpoint.id}/${question}`,
    formToken,
    confirm: button,
    keep: 'Cancel',
  })
}

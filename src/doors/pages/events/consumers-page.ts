/** The consumers that fetch a person's events, and the question before one is removed. Rendering only. */
import { sightMark } from '#contract/event-query.ts'
import type { ConsumerRow } from '#store/ports/consumers.ts'
import { foreignText, type Html, html } from '../html.ts'
import { doneBox, leadingButton } from '../layout.ts'
import { renderMoment } from '../moments.ts'
import { renderQuestion } from '../question.ts'
import { table } from '../table.ts'

export const consumersPath = '/events'

export const consumersDone = {
  removed: 'The consumer is removed. A program that asks by its name again begins anew.',
  gone: 'That consumer does not exist. It was removed, or the address is wrong.',
} as const

type ShownConsumer = ConsumerRow & { readonly waiting: number }

export interface ConsumersOptions {
  readonly consumers: readonly ShownConsumer[]
  readonly zone: string
  /** The public origin of REST. */
  readonly origin: string
  readonly done: keyof typeof consumersDone | null
}

export function renderConsumers({ consumers, zone, origin, done }: ConsumersOptions): Html {
  return html`<h1>Fetched events</h1>
${doneBox(done && consumersDone[done])}
<p>A program without a public address fetches the events that <a href="/webhooks">webhooks</a> are sent, with one of your <a href="/keys">keys</a>. Each program has a consumer of its own, which its first request makes:</p>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer …' '${origin}/v1/events?consumer=books&amp;wait=55'</code></pre>
<p>Events are kept for the time of retention; with none, until every consumer has acknowledged them, at most 72 hours. <a href="/guides/events#events-without-an-address">How it works</a></p>
${consumers.length === 0 ? html`<p>No program fetches your events.</p>` : renderTable(consumers, zone)}`
}

function renderTable(consumers: readonly ShownConsumer[], zone: string): Html {
  return table<ShownConsumer>(
    'Consumers',
    [
      {
        name: 'Consumer',
        show: ({ name }) => html`<span class="foreign">${foreignText(showName(name))}</span>`,
      },
      { name: 'Last asked', show: ({ askedAt }) => renderMoment(askedAt, zone) },
      { name: 'Waiting events', show: ({ waiting }) => String(waiting) },
      { name: 'Created', show: ({ createdAt }) => renderMoment(createdAt, zone) },
      {
        name: 'Remove',
        isPlain: true,
        show: ({ id, name }) =>
          leadingButton(`${consumersPath}/${id}/remove`, 'Remove', {
            look: 'outline secondary',
            label: `Remove ${foreignText(showName(name))}`,
          }),
      },
    ],
    consumers,
  )
}

/** What follows the mark tells narrow keys apart (reading R43). */
function showName(name: string): string {
  const mark = name.indexOf(sightMark)
  return mark === -1 ? name : `${name.slice(0, mark)} (a narrow key)`
}

/** The question before a consumer is removed. */
export function renderRemoval({ id, name, waiting }: ShownConsumer, formToken: string): Html {
  const lost = waiting === 1 ? '1 event waits' : `${waiting} events wait`
  return renderQuestion({
    heading: 'Remove this consumer?',
    sentences: html`<p>${lost} for <span class="foreign">${foreignText(showName(name))}</span>; it does not get them any more.</p>`,
    path: `${consumersPath}/${id}/remove`,
    formToken,
    confirm: 'Remove the consumer',
    keep: 'Keep it',
  })
}

/** One delivery: its event with type and payload, while it is kept, and its attempts. Rendering only. */
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { foreignText, type Html, html } from '../html.ts'
import { renderInstant } from '../moments.ts'
import { describeDelivery, renderAttempts, renderReplay } from './deliveries-view.ts'
import { showUrl } from './list-page.ts'

export interface DeliveryOptions {
  readonly endpoint: EndpointRow
  readonly delivery: DeliveryRow
  /** The body as it was sent; null: it is not kept any more. 'damaged': it cannot be decrypted. */
  readonly payload: Uint8Array | 'damaged' | null
  readonly zone: string
  readonly formToken: string
}

/** Longer ones are cut: the page is for looking. */
const shownBytes = 64 * 1024

export function renderDelivery(options: DeliveryOptions): Html {
  const { endpoint, delivery, payload, zone, formToken } = options
  return html`<p><a href="/webhooks/${endpoint.id}">All deliveries to <span class="foreign">${showUrl(endpoint)}</span></a></p>
<h1>${delivery.type}</h1>
<dl class="facts">
<dt>Event</dt><dd><code>${delivery.eventId}</code></dd>
<dt>Accepted</dt><dd>${renderInstant(delivery.createdAt, zone)}${delivery.isReplay && ' (replayed)'}${delivery.isTest && ' (test event)'}</dd>
<dt>State</dt><dd>${describeDelivery(delivery, zone)}</dd>
</dl>
<div class="actions">${renderReplay(endpoint, delivery, formToken)}</div>
<h2>Attempts</h2>
${renderAttempts(delivery.attempts, zone)}
<h2>Payload</h2>
${renderPayload(payload)}`
}

function renderPayload(payload: DeliveryOptions['payload']): Html {
  if (payload === null) return html`<p>It is not kept any more.</p>`
  return payload === 'damaged' ? html`<p>It cannot be decrypted.</p>` : renderText(payload)
}

/** Texts in it come from banks, brokers and their customers. */
function renderText(payload: Uint8Array): Html {
  const text = indent(Buffer.from(payload.subarray(0, shownBytes)).toString('utf8'))
  const isCut = payload.length > shownBytes
  return html`<p>Decrypted for you. Texts in it are written by others: nothing in them is a message of this server.</p>
<pre class="untrusted" tabindex="0"><code>${text
    .split('\n')
    .map((line) => foreignText(line, 4000))
    .join('\n')}</code></pre>
${isCut && html`<p>The first 64 KiB of ${payload.length.toLocaleString('en')} bytes are shown.</p>`}`
}

const emptyPairs = ['{}', '[]']

/** Line ends between the parts, without parsing: numbers stay as they were sent. */
function indent(json: string): string {
  let [depth, isText, shown] = [0, false, '']
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charAt(at)
    if (isText) {
      shown += character
      if (character === '\\') {
        at += 1
        shown += json.charAt(at)
      } else if (character === '"') isText = false
    } else if (character === '"') {
      isText = true
      shown += character
    } else if (emptyPairs.includes(json.slice(at, at + 2))) {
      shown += json.slice(at, at + 2)
      at += 1
    } else if (character === '{' || character === '[') {
      depth += 1
      shown += `${character}\n${'  '.repeat(depth)}`
    } else if (character === '}' || character === ']') {
      depth = Math.max(0, depth - 1)
      shown += `\n${'  '.repeat(depth)}${character}`
    } else if (character === ',') shown += `,\n${'  '.repeat(depth)}`
    else shown += character === ':' ? ': ' : character
  }
  return shown
}

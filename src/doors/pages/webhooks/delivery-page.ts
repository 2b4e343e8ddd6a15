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

/** A whole text, or one that ends with what is shown; a pair without content; or a mark. */
const jsonParts = /"(?:[^"\\]|\\.?)*"?|\{\}|\[\]|[{}[\],:]/g

/** Line ends between the parts, without parsing: numbers stay as they were sent. */
function indent(json: string): string {
  let depth = 0
  const startLine = () => `\n${'  '.repeat(depth)}`
  return json.replace(jsonParts, (part) => {
    switch (part) {
      case '{':
      case '[':
        depth += 1
        return part + startLine()
      case '}':
      case ']':
        depth = Math.max(0, depth - 1)
        return startLine() + part
      case ',':
        return part + startLine()
      case ':':
        return ': '
      default:
        return part
    }
  })
}

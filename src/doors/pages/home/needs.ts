/** What needs the person besides their connections: endpoints that fail, keys that end soon. */
import { toKeyStatus } from '#auth/keys.ts'
import { dayMs } from '#kernel/time.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import { foreignText, type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { renderAgo } from '../moments.ts'
import { describeHealth } from '../webhooks/health.ts'
import { shortUrl } from '../webhooks/list-page.ts'

export interface Needs {
  readonly endpoints: readonly EndpointRow[]
  readonly keys: readonly KeyRow[]
}

/** A fortnight. */
const soonMs = 14 * dayMs

export function findNeeds({ endpoints, keys }: Needs, now: number): Needs {
  return {
    endpoints: endpoints.filter(
      ({ health, disabledReason }) => health !== 'healthy' && disabledReason !== 'owner',
    ),
    keys: keys.filter(
      (key) =>
        toKeyStatus(key, now) === 'active' &&
        key.expiresAt !== null &&
        key.expiresAt - now <= soonMs,
    ),
  }
}

export function renderNeeds(
  { endpoints, keys }: Needs,
  { zone, now }: { readonly zone: string; readonly now: number },
): Html | null {
  if (endpoints.length + keys.length === 0) return null
  return html`<ul class="needs">
${endpoints.map((endpoint) => html`<li>${icon('webhooks')}<span>Endpoint <a href="/webhooks/${endpoint.id}" class="foreign">${shortUrl(endpoint)}</a>: <strong class="trouble">${describeHealth(endpoint).name}</strong></span></li>`)}
${keys.map(({ name, expiresAt }) => html`<li>${icon('keys')}<span>The key <a href="/keys" class="foreign">${foreignText(name)}</a> expires ${expiresAt !== null && renderAgo(expiresAt, zone, now)}</span></li>`)}
</ul>`
}

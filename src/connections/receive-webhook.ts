/**
 * Receives a webhook of a provider: verified by its adapter, heeded once, its changes applied to our rows. Nobody waits for
 * a provider here, except for a signing key that is not known yet; what has to be read is read by a sync, which is
 * requested. Without webhooks the schedule of syncs finds the same, only later.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { WebhookRequest } from '#providers/port.ts'
import { getAdapter } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'
import { heedNotice } from './heed-notice.ts'

/**
 * What became of a webhook. `done`: it concerned connections of ours. `unmatched`: it concerned none of ours. `ignored`:
 * it reports nothing that we serve. `repeated`: it was received before. The others were refused, and changed nothing.
 */
export type WebhookOutcome =
  | 'done'
  | 'unmatched'
  | 'ignored'
  | 'repeated'
  | 'unsigned'
  | 'forged'
  | 'too_old'
  | 'unreadable'

/**
 * @throws ApiError `provider_not_configured` when nothing of this provider is received; UpstreamError when the webhook
 * could not be verified now.
 */
export type ReceiveWebhook = (
  provider: Provider,
  request: WebhookRequest,
) => Promise<WebhookOutcome>

/** Makes the action. A webhook whose changes could not be stored counts as not received: its repetition is heeded. */
export function makeReceiveWebhook(deps: ActionDeps): ReceiveWebhook {
  return async (provider, request) => {
    const { webhooks } = getAdapter(deps.adapters, provider)
    if (webhooks === undefined) throw apiError('provider_not_configured')
    const verdict = await webhooks.receive(request)
    if (verdict.kind === 'refused') return verdict.reason
    const { notices, keyLifeMs } = verdict
    if (notices.length === 0) return 'ignored'
    const key = `webhook:${provider}:${verdict.key}`
    const { allowed } = await deps.windows.take(key, 1, keyLifeMs)
    if (!allowed) return 'repeated'
    try {
      let matched = 0
      for (const notice of notices) matched += await heedNotice(deps, provider, notice)
      return matched === 0 ? 'unmatched' : 'done'
    } catch (error) {
      await deps.windows.forget(key)
      throw error
    }
  }
}

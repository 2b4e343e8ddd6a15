/**
 * Receives a webhook of a provider: its adapter verifies it, repetitions are ignored, its changes are applied
 * to our rows. It calls no provider, except for a signing key that is not known yet and for a consent that a
 * person is giving now (`resume-linking.ts`); for data that must be read it requests a sync. Without webhooks
 * scheduled syncs find the same changes later.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { WebhookRequest } from '#providers/port.ts'
import { applyNotice, findReferred } from './apply-notice.ts'
import { getAdapter, limitTime } from './ask-provider.ts'
import type { ActionOptions } from './options.ts'

/**
 * The result for a webhook. `done`: it concerned connections of ours. `unmatched`: it concerned none of ours.
 * `ignored`: it reports nothing that we serve. `repeated`: it was received before. The others are refusals,
 * which change nothing.
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
 * @throws ApiError `provider_not_configured` when no webhooks of this provider are received; UpstreamError
 *   when the webhook could not be verified now.
 */
export type ReceiveWebhook = (
  provider: Provider,
  request: WebhookRequest,
) => Promise<WebhookOutcome>

/** Makes the action. A webhook whose changes were not stored counts as not received. */
export function makeReceiveWebhook(options: ActionOptions): ReceiveWebhook {
  return async (provider, request) => {
    const { webhooks } = getAdapter(options.adapters, provider)
    if (webhooks === undefined) throw apiError('provider_not_configured')
    const verdict = await webhooks.receive(request, {
      has: async (reference) => (await findReferred(options, provider, reference)) !== null,
    })
    if (verdict.kind === 'refused') return verdict.reason
    const { notices, keyLifeMs } = verdict
    if (notices.length === 0) return 'ignored'
    const key = `webhook:${provider}:${verdict.key}` as const
    const { allowed } = await options.windows.take(key, 1, keyLifeMs)
    if (!allowed) return 'repeated'
    try {
      let matched = 0
      const askOptions = limitTime(options, { priority: 'user' })
      for (const notice of notices)
        matched += await applyNotice(options, provider, notice, askOptions)
      return matched === 0 ? 'unmatched' : 'done'
    } catch (error) {
      await options.windows.forget(key)
      throw error
    }
  }
}

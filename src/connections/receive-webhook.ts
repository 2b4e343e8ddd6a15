/**
 * Receives a webhook of a provider: its adapter verifies it, repetitions are ignored, its changes are applied
 * to our rows. It calls no provider, except for a signing key that is not known yet and for a consent that a
 * person is giving now (`resume-linking.ts`); for data that must be read it requests a sync. Without webhooks
 * scheduled syncs find the same changes later.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { runOnce } from '#fast/run-once.ts'
import type { WebhookRequest, WebhookVerdict } from '#providers/port.ts'
import { applyNotice, findReferred } from './apply-notice.ts'
import { getAdapter, limitTime } from './ask-provider.ts'
import type { ActionOptions } from './options.ts'

/**
 * The result for a webhook. `done`: it concerned connections of ours. `unmatched`: it concerned none of ours.
 * `ignored`: it reports nothing that we serve. `repeated`: it was received before. `under_way`: the same one
 * came before, and its changes are not stored yet. The others are refusals, which change nothing.
 */
export type WebhookOutcome =
  | 'done'
  | 'unmatched'
  | 'ignored'
  | 'repeated'
  | 'under_way'
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

/** Makes the action. A webhook whose changes are not stored counts as not received. */
export function makeReceiveWebhook(options: ActionOptions): ReceiveWebhook {
  return async (provider, request) => {
    const { webhooks } = getAdapter(options.adapters, provider)
    if (webhooks === undefined) throw apiError('provider_not_configured')
    const verdict = await webhooks.receive(request, {
      has: async (reference) => (await findReferred(options, provider, reference)) !== null,
    })
    if (verdict.kind === 'refused') return verdict.reason
    if (verdict.notices.length === 0) return 'ignored'
    return receiveOnce(options, { provider, ...verdict })
  }
}

interface Accepted extends Extract<WebhookVerdict, { kind: 'accepted' }> {
  readonly provider: Provider
}

function receiveOnce(
  options: ActionOptions,
  { provider, key, keyLifeMs, notices }: Accepted,
): Promise<WebhookOutcome> {
  const { windows, clock, timeoutMs } = options
  const once = {
    windows,
    clock,
    key: `webhook:${provider}:${key}`,
    claimMs: 2 * timeoutMs,
    keptMs: keyLifeMs,
  } as const
  return runOnce<WebhookOutcome>(once, async () => {
    let matched = 0
    const askOptions = limitTime(options, { priority: 'user' })
    for (const notice of notices)
      matched += await applyNotice(options, provider, notice, askOptions)
    return matched === 0 ? 'unmatched' : 'done'
  })
}

/**
 * What waits for what in this process. What a person links and removes at one provider is done one after
 * another: a link that begins while the last connection there ends would go to a login that ends with it
 * (between processes a mark on the login tells: `startEnding`).
 * Refreshes of one login take turns too; nothing else waits for them, because what they have read is not
 * stored when the login's consents changed meanwhile. Beginning a renewal waits for nothing, since it makes
 * no login, nor does deleting a person, for whom nothing is stored from then on.
 */
import { apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import type { Provider } from '#contract/resources.ts'
import type { UserId } from '#kernel/ids.ts'
import { MissedTurnError } from '#kernel/queue.ts'
import type { AskOptions } from './ask-provider.ts'
import type { ActionOptions } from './options.ts'

/** The key of the turns at one provider. */
export const turnAt = (of: { readonly userId: UserId; readonly provider: Provider }): string =>
  `${of.userId} ${of.provider}`

/** What its caller waits for, in the words of the answer. */
const earlier = {
  link: 'An earlier link or removal at this provider',
  refresh: 'An earlier refresh of this login',
} as const

/**
 * Runs work whose caller waits for the answer: the time of the action includes the waiting.
 * @throws ApiError `provider_unavailable` when its turn has not come by then; it never runs.
 */
export async function inTime<T>(
  { queue }: Pick<ActionOptions, 'queue'>,
  { key, kind }: { readonly key: string; readonly kind: keyof typeof earlier },
  { until }: Pick<AskOptions, 'until'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await queue.take(key, work, until)
  } catch (error) {
    if (!(error instanceof MissedTurnError)) throw error
    const message = `${earlier[kind]} is still in progress; retry later`
    throw apiError('provider_unavailable', {
      message,
      retryAfterSeconds: retryLaterSeconds,
      cause: error,
    })
  }
}

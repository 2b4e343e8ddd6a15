/**
 * The institutions that a person can choose at a provider. They are public and change rarely, so each process
 * keeps them for ten minutes and asks once however many people wait.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { minuteMs } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toUpstreamApiError } from '#providers/guard.ts'
import type { Institution, Linking } from '#providers/linking.ts'
import { askProvider, getAdapter, limitTime } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'

/**
 * Sorted by name; null: the provider's own page asks.
 * @throws ApiError `provider_not_configured`, also where nobody can link in a browser; upstream failures by
 *   the mapping of `guard.ts`.
 */
export type ListInstitutions = (provider: Provider) => Promise<readonly Institution[] | null>

const keptMs = 10 * minuteMs
/** More than any provider has; what lies beyond is left out. */
const maxInstitutions = 5000

type Ask = NonNullable<Linking['institutions']>

export function makeListInstitutions(options: ActionOptions): ListInstitutions {
  const kept = new Map<Provider, { readonly at: number; readonly list: readonly Institution[] }>()
  const asked = new Map<Provider, Promise<readonly Institution[]>>()

  async function ask(provider: Provider, institutions: Ask): Promise<readonly Institution[]> {
    const askOptions = limitTime(options, { priority: 'user' })
    const all = await askProvider(provider, askOptions, institutions)
    const list = all.slice(0, maxInstitutions)
    kept.set(provider, { at: options.clock.now(), list })
    return list
  }

  return async (provider) => {
    const { linking } = getAdapter(options.adapters, provider)
    if (linking === undefined) throw apiError('provider_not_configured')
    const { institutions } = linking
    if (institutions === undefined) return null
    const known = kept.get(provider)
    const age = known === undefined ? keptMs : options.clock.now() - known.at
    // A negative age means that the clock was set back.
    if (known !== undefined && age >= 0 && age < keptMs) return known.list
    const running = asked.get(provider) ?? ask(provider, institutions.bind(linking))
    asked.set(provider, running)
    try {
      return await running
    } catch (error) {
      if (error instanceof UpstreamError) throw toUpstreamApiError(error)
      throw error
    } finally {
      if (asked.get(provider) === running) asked.delete(provider)
    }
  }
}

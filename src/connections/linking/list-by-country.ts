/**
 * The institutions of one country that a person can choose, where a provider has many countries. Asked with a
 * login of the person's own where they have one; the adapter keeps what changes rarely.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { UserId } from '#kernel/ids.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toUpstreamApiError } from '#providers/guard.ts'
import type { Institution, Linking } from '#providers/linking.ts'
import type { Login } from '#providers/port.ts'
import { askProvider, getAdapter, limitTime, toLogin } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'
import { findLinkingLogins } from './linking-login.ts'

export interface CountryRequest {
  readonly userId: UserId
  readonly provider: Provider
  /** ISO 3166-1 alpha-2: the person's choice, or a guess; null: none. */
  readonly country: string | null
}

export type CountryList =
  /** The person brings a key of their own first. */
  | { readonly kind: 'needs_key' }
  | {
      readonly kind: 'listed'
      readonly countries: readonly string[]
      /** The one whose institutions are listed; null: it is not one of `countries`. */
      readonly country: string | null
      readonly institutions: readonly Institution[]
    }

/**
 * @throws ApiError `provider_not_configured`, also where nobody chooses a country; upstream failures by the
 *   mapping of `guard.ts`.
 */
export type ListByCountry = (request: CountryRequest) => Promise<CountryList>

export function makeListByCountry(options: ActionOptions): ListByCountry {
  return async ({ userId, provider, country: wanted }) => {
    const { linking } = getAdapter(options.adapters, provider)
    const { byCountry } = linking ?? {}
    if (linking === undefined || byCountry === undefined) throw apiError('provider_not_configured')
    const login = await findOwn(options, { userId, provider, linking })
    if (login === null && linking.needsLogin === true) return { kind: 'needs_key' }
    const askOptions = limitTime(options, { priority: 'user' })
    try {
      return await askProvider(provider, askOptions, async (call) => {
        const countries = await byCountry.countries(login, call)
        const [only, ...others] = countries
        const guess = others.length === 0 ? (only ?? null) : wanted
        const country = guess !== null && countries.includes(guess) ? guess : null
        const institutions = country === null ? [] : await byCountry.list(login, country, call)
        return { kind: 'listed', countries, country, institutions }
      })
    } catch (error) {
      if (error instanceof UpstreamError) throw toUpstreamApiError(error)
      throw error
    }
  }
}

/** The login that a link would begin with. */
async function findOwn(
  { store }: ActionOptions,
  wanted: { readonly userId: UserId; readonly provider: Provider; readonly linking: Linking },
): Promise<Login | null> {
  const [first] = await findLinkingLogins({ store }, { ...wanted, renewed: null })
  return first?.row ? toLogin(first.row) : null
}

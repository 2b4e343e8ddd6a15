/** How people can link here: at each configured provider its own page, keys of their own, or both. */
import type { ConnectionCategory, Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { OwnKeyAccess } from '#providers/credentials.ts'
import type { Adapters } from '#providers/port.ts'

export interface LinkingWay {
  readonly provider: Provider
  /** The provider's name for people. */
  readonly name: string
  /** What it reaches, e.g. `Banks in Australia`. */
  readonly covers: string
  /** The countries that it is for; null: many. */
  readonly countries: readonly string[] | null
  readonly category: ConnectionCategory
  /** The person gives consent on the provider's page. */
  readonly hasPage: boolean
  /** The person chooses a country before the institution. */
  readonly isByCountry: boolean
  /** Null: no keys of people in this mode. */
  readonly ownKey: OwnKeyAccess | null
}

/** In the order of the documentation; a provider without any way is left out. */
export function listWays(adapters: Adapters): readonly LinkingWay[] {
  return providerNames.flatMap((provider) => {
    const adapter = adapters[provider]
    if (adapter === undefined) return []
    const { name, covers, countries, category } = factsOf(provider)
    const hasPage = adapter.linking !== undefined
    const ownKey = adapter.access.ownKey ?? null
    if (!hasPage && ownKey === null) return []
    const isByCountry = adapter.linking?.byCountry !== undefined
    return [{ provider, name, covers, countries, category, hasPage, isByCountry, ownKey }]
  })
}

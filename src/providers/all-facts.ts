/** The facts of every provider: one line each, which the compiler requires for every name in `Provider`. */
import { apiError } from '#contract/errors.ts'
import { Provider } from '#contract/resources.ts'
import { akahuFacts } from './akahu/facts.ts'
import { enablebankingFacts } from './enablebanking/facts.ts'
import { fiskilFacts } from './fiskil/facts.ts'
import type { ProviderFacts } from './provider-facts.ts'
import { simplefinFacts } from './simplefin/facts.ts'
import { snaptradeFacts } from './snaptrade/facts.ts'
import { upFacts } from './up/facts.ts'

const facts = {
  fiskil: fiskilFacts,
  akahu: akahuFacts,
  snaptrade: snaptradeFacts,
  up: upFacts,
  simplefin: simplefinFacts,
  enablebanking: enablebankingFacts,
} as const satisfies Readonly<Record<Provider, ProviderFacts>>

/** The facts with their literal names, from which types are derived. */
export type KnownFacts = typeof facts

/** In the order of the documentation. */
export const providerNames: readonly Provider[] = Provider.options

/**
 * @throws ApiError `service_unavailable` for a provider that only a newer version knows: during a rolling
 *   upgrade, rows of that version are in the store (decision 18). A process of that version can answer.
 */
export function factsOf(provider: Provider): ProviderFacts {
  if (Object.hasOwn(facts, provider)) return facts[provider]
  const cause = new Error(
    `the store has the provider "${provider}", which this version does not know: finish the upgrade`,
  )
  throw apiError('service_unavailable', { retryAfterSeconds: 5, cause })
}

/** The variables that `tributary setup` alone reads, in the order of the documentation. */
export const personalVariables: readonly { readonly name: string; readonly meaning: string }[] =
  providerNames.flatMap((provider) => {
    const { personal } = factsOf(provider)
    const tokens = Object.values(personal?.tokens ?? {})
    return tokens.map(({ variable, asks }) => ({
      name: variable,
      meaning: `${personal?.name}: ${asks}, ${personal?.source}.`,
    }))
  })

/** The variables with this installation's own access to a provider, for messages to operators. */
export function ownCredentialsOf(provider: Provider): string {
  const { baseUrl, required } = factsOf(provider).settings
  const names = Object.values(required)
  return names.length > 0 ? names.join(' and ') : baseUrl
}

/** What the pages of linking need: where their forms may lead, and tokens of made-up people. */
import type { LinkingWay } from '#connections/connections.ts'
import type { Provider } from '#contract/resources.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'

const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Sources of `form-action`: browsers apply it to the redirect that answers a form. Providers' pages are on
 * any https address; where a provider is configured at plain http on this machine (the sandbox), its pages
 * are there too, on any port.
 */
export function listLinkingTargets(access: ProviderAccess): readonly string[] {
  const addresses = Object.values(access)
    .flatMap((own) => Object.values<unknown>(own ?? {}))
    .flatMap((value) => (typeof value === 'string' ? [URL.parse(value)] : []))
  const isLocal = addresses.some(
    (url) => url !== null && url.protocol === 'http:' && loopback.test(url.hostname),
  )
  return isLocal ? ['https:', 'http://127.0.0.1:*', 'http://localhost:*'] : ['https:']
}

/** The tokens by which these people link, by the names of the form's fields. */
export function listSampleTokens(
  ways: readonly LinkingWay[],
  people: readonly Credentials[],
): Partial<Record<Provider, Record<string, string>>> {
  const samples: Partial<Record<Provider, Record<string, string>>> = {}
  for (const { provider, ownKey } of ways) {
    const person: Readonly<Record<string, unknown>> | undefined = people.find(
      (credentials) => credentials.provider === provider,
    )
    for (const { name, field } of ownKey?.fields ?? []) {
      const value = person?.[field]
      if (typeof value === 'string') samples[provider] = { ...samples[provider], [name]: value }
    }
  }
  return samples
}

/** Unwraps the secrets of the providers' access, for the adapters alone. */
import type { Provider } from '#contract/resources.ts'
import { Secret } from '#kernel/secret.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import { providerNames } from '#providers/all-facts.ts'
import type { Config } from './compose.ts'
import type { ProviderSettings } from './provider-settings.ts'

type OpenedValue<Value> = Value extends Secret<infer Text> ? Text : Value
type Opened<Settings> = { readonly [Field in keyof Settings]: OpenedValue<Settings[Field]> }
type Access = { readonly [Name in Provider]: Opened<ProviderSettings<Name>> | null }

/** Optional settings that are not set are null. */
export function openAccess(config: Config): ProviderAccess {
  const access = providerNames.map((name) => {
    const own = config.providers[name]
    const opened = Object.entries<unknown>(own ?? {}).map(([field, value]) => [
      field,
      value instanceof Secret ? value.reveal() : value,
    ])
    return [name, own && Object.fromEntries(opened)] as const
  })
  // The type is built from the facts; the compiler checks it against what the adapters require.
  return Object.fromEntries(access) as Access
}

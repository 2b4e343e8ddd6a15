/** Whether this installation has credentials of its own at a provider. */
import type { Provider } from '#contract/resources.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { Config } from './compose.ts'

/** False for a provider that needs none, and for one that is reached with people's own keys alone. */
export function hasOwnCredentials(providers: Config['providers'], provider: Provider): boolean {
  const settings = providers[provider]
  const fields = Object.keys(factsOf(provider).settings.required)
  if (settings === null || fields.length === 0) return false
  const values: Readonly<Record<string, unknown>> = { ...settings }
  return fields.every((field) => values[field] !== null)
}

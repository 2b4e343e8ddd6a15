/**
 * The logins behind connections: whether the present variables can serve each, found out without a call, and
 * what comes next for its person or the operator, which depends on the provider and on whose key it is.
 */
import type { Provider } from '#contract/resources.ts'
import type { LoginId } from '#kernel/ids.ts'
import { ownCredentialsOf, providerNames } from '#providers/all-facts.ts'
import type { LoginAccess } from '#providers/credentials.ts'
import type { Adapters } from '#providers/port.ts'
import { openLogin } from '#store/open-login.ts'
import type { Store } from '#store/ports/store.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

export interface LoginOptions {
  readonly store: Pick<Store, 'inspector' | 'logins'>
  readonly adapters: Adapters
}

interface NamedLogin {
  readonly id: LoginId
  readonly provider: Provider
  readonly email: string
}

/** Opened one by one; a doctor that opened all of a large installation would take too long. */
const maxExamined = 1000
const maxNamed = 20

export function checkLogins(options: LoginOptions): Check {
  return async () => {
    const used = await options.store.inspector.listUsedLogins(maxExamined + 1)
    const found: Finding[] = []
    for (const login of used.slice(0, maxExamined)) {
      const { id, provider, email } = login
      const { obstacle } = await describeLogin(options, login)
      if (obstacle === null) continue
      const name = `login:${id}`
      const message = `no connection of ${email} at ${provider} by this login can be read: ${obstacle}`
      found.push(fault(name, message, 'Correct the variables and restart, or link again'))
    }
    const first = used.length > maxExamined ? `the first ${maxExamined} logins` : 'every login'
    if (found.length === 0) return [ok('logins', `the variables can serve ${first}`)]
    const more = found.length - maxNamed
    const rest = `${more} more logins cannot be served by the variables`
    return [
      ...found.slice(0, maxNamed),
      ...(more > 0 ? [warning('logins:more', rest, 'Resolve these first')] : []),
    ]
  }
}

export async function describeLogin(
  { store, adapters }: LoginOptions,
  { id, provider, email }: NamedLogin,
): Promise<LoginAccess> {
  const adapter = adapters[provider]
  if (adapter === undefined) return toUnserved(explainMissing(provider))
  const login = await openLogin(store, id)
  if (login !== null && login !== 'damaged') return adapter.describeLogin(login, email)
  return toUnserved(
    `its credentials do not open, since the row is damaged or its key is missing in ENCRYPTION_KEY: ${email} links again`,
  )
}

function explainMissing(provider: Provider): string {
  return providerNames.includes(provider)
    ? `${ownCredentialsOf(provider)} are not set`
    : 'only a newer version knows this provider: finish the upgrade'
}

/** Nothing can be said of it before that. */
const toUnserved = (obstacle: string): LoginAccess => ({
  obstacle,
  renewal: `First: ${obstacle}`,
  whenRefused: `First: ${obstacle}`,
})

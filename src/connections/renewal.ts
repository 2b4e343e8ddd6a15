/**
 * How a person renews a connection that no longer works: on the provider's page, by a new key of their own,
 * or not by themselves. Nothing is called.
 */
import { factsOf } from '#providers/all-facts.ts'
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { toLogin } from './ask-provider.ts'
import type { ActionOptions } from './options.ts'

export type RenewalMethod =
  /** On the provider's page (`startLinking`). */
  | 'browser'
  /** By a key that the person obtained for themselves; its consents may be used by other programs too. */
  | 'key'
  /** Only the operator can link it again. */
  | 'operator'

export interface Renewals {
  /** As the provider is set up here, for many connections at once: a personal key is not told apart. */
  guess(row: ConnectionRow): RenewalMethod
  /** As the login of this connection is. */
  find(row: ConnectionRow): Promise<RenewalMethod>
}

export function makeRenewals({
  adapters,
  store,
}: Pick<ActionOptions, 'adapters' | 'store'>): Renewals {
  const guess = ({ provider }: ConnectionRow): RenewalMethod => {
    const adapter = adapters[provider]
    if (adapter === undefined) return 'operator'
    if (adapter.linking !== undefined) return 'browser'
    return factsOf(provider).personal === undefined ? 'operator' : 'key'
  }
  return {
    guess,
    async find(row) {
      const linking = adapters[row.provider]?.linking
      if (linking?.accepts === undefined) return guess(row)
      const login = await openLogin(store, row.loginId)
      // A login that cannot be read is repaired on the provider's page.
      if (login === null || login === 'damaged') return 'browser'
      return linking.accepts(toLogin(login)) ? 'browser' : 'key'
    },
  }
}

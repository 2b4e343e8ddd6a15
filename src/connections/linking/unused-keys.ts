/**
 * Keys of a person's own with which no institution is linked yet: kept for an hour, in which the person
 * chooses one, whose page asks for the consent. Nothing is called.
 */
import type { Provider } from '#contract/resources.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { openLogin } from '#store/open-login.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { toLogin } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'
import { isLeft } from './linking-login.ts'

export interface UnusedKey {
  readonly provider: Provider
  /** Then it is deleted, unless something is linked with it. */
  readonly until: Millis
}

export type ListUnusedKeys = (userId: UserId) => Promise<readonly UnusedKey[]>

export function makeListUnusedKeys({
  store,
  adapters,
  clock,
}: Pick<ActionOptions, 'store' | 'adapters' | 'clock'>): ListUnusedKeys {
  const isOwnKey = (login: LoginRow): boolean =>
    !isLeft(login) && adapters[login.provider]?.linking?.isPreferred?.(toLogin(login)) === true

  return async (userId) => {
    const waiting = new Map<Provider, Millis>()
    const used = new Set<Provider>()
    for (const id of await store.logins.listIds(userId)) {
      const login = await openLogin(store, id)
      if (login === null || login === 'damaged' || !isOwnKey(login)) continue
      const { provider } = login
      const open = await store.linkings.findOpen(id, clock.now())
      if ((await store.connections.listByLogin(id)).length > 0) used.add(provider)
      // One with an outcome has a consent already, which is being read.
      else if (open?.outcome === null) waiting.set(provider, open.expiresAt)
    }
    return [...waiting]
      .filter(([provider]) => !used.has(provider))
      .map(([provider, until]) => ({ provider, until }))
  }
}

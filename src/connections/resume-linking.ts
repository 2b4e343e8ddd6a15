/**
 * Looks again for a consent that a person gave in a browser and that had not arrived, or could not be read: when they ask,
 * and when the provider's webhook reports it although the browser never returned. Without an open attempt nothing is adopted,
 * because people decide what is linked.
 */
import { type By, bySystem, mayActFor, type Person } from '#contract/actor.ts'
import type { LoginId } from '#kernel/ids.ts'
import type { LoginRef } from '#store/ports/logins.ts'
import type { ActionDeps } from './deps.ts'
import type { LinkingEnd } from './linking-attempt.ts'
import { openLogin } from './open-login.ts'
import { discoverAndAdopt, type OpenLinking, readConsents } from './read-consents.ts'

/** `over`: no link of this login waits, because it has arrived, has expired, or is not theirs. */
export type ResumeLinking = (
  by: By<Person>,
  loginId: LoginId,
) => Promise<
  | Extract<LinkingEnd, { readonly kind: 'linked' | 'waiting' | 'unread' }>
  | { readonly kind: 'over' }
>

/** A page that waits asks every few seconds; a provider is asked no more often than this for one login. */
const looks = { most: 40, withinMs: 10 * 60_000 }

/** Makes the action. @throws ApiError `user_not_found` */
export function makeResumeLinking(deps: ActionDeps): ResumeLinking {
  return async (by, loginId) => {
    const login = await deps.store.logins.find(loginId)
    if (login === null || !mayActFor(by, login.userId)) return { kind: 'over' }
    return deps.queue.take(login.userId, async () => {
      const open = await findOpen(deps, loginId)
      if (open === null) return { kind: 'over' }
      const key = `linking-look:${loginId}`
      const { allowed } = await deps.windows.take(key, looks.most, looks.withinMs)
      if (allowed) return readConsents(deps, by, open)
      return { kind: 'waiting', loginId, provider: login.provider }
    })
  }
}

/**
 * Adopts what an open attempt of the login waits for. Returns the number of connections; 0 without such an attempt.
 * @throws UpstreamError when the provider cannot be read; it sends the webhook again.
 */
export function adoptAwaited(deps: ActionDeps, login: LoginRef): Promise<number> {
  return deps.queue.take(login.userId, async () => {
    const open = await findOpen(deps, login.id)
    if (open === null) return 0
    await discoverAndAdopt(deps, bySystem, open)
    return (await deps.store.connections.listByLogin(login.id)).length
  })
}

async function findOpen(
  { store, clock }: ActionDeps,
  loginId: LoginId,
): Promise<OpenLinking | null> {
  const attempt = await store.linkings.findOpen(loginId, clock.now())
  if (attempt === null) return null
  const login = await openLogin(store, loginId)
  return login === null || login === 'damaged' ? null : { attempt, login }
}

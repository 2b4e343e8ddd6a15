/**
 * Ends the logins that links in a browser left behind: the person never returned, declined, or the provider
 * failed, and nothing was linked within the hour that a link lives. What this installation made at the
 * provider ends there, with any consent that was given and never read; a provider that fails is asked again
 * by the next sweep.
 */
import type { Provider } from '#contract/resources.ts'
import type { LoginId } from '#kernel/ids.ts'
import { openLogin } from '#store/open-login.ts'
import type { LoginRef } from '#store/ports/logins.ts'
import { type AskOptions, limitTime } from '../ask-provider.ts'
import { endEmptyLogin } from '../end-consent.ts'
import { forgetReadings } from '../forget-readings.ts'
import type { ActionOptions } from '../options.ts'
import { turnAt } from '../turns.ts'

/** Per sweep; the rest waits for the next one. */
const maxPerSweep = 100

export type EndAbandoned = (stop: AbortSignal) => Promise<void>

/** Part of the deletion sweep. Each goes on behind the one before: failures do not block others. */
export function makeEndAbandoned(options: ActionOptions): EndAbandoned {
  let reached: LoginId | null = null
  return async (stop) => {
    const now = options.clock.now()
    const page = { now, after: reached, limit: maxPerSweep }
    const logins = await options.store.logins.listAbandoned(page)
    reached = logins.length < maxPerSweep ? null : (logins.at(-1)?.id ?? null)
    const failed = new Set<Provider>()
    for (const login of logins) {
      if (stop.aborted) return
      if (failed.has(login.provider)) continue
      if (!(await end(options, login, stop))) failed.add(login.provider)
    }
  }
}

/** False when the provider could not be asked. */
function end(options: ActionOptions, ref: LoginRef, stop: AbortSignal): Promise<boolean> {
  return options.queue.take(turnAt(ref), async () => {
    const now = options.clock.now()
    if (!(await options.store.logins.startEnding(ref.id, { now }))) return true
    const askOptions = limitTime(options, { priority: 'background', stop })
    return endMarked(options, ref, { isEnded: false, askOptions })
  })
}

/**
 * Ends a login that is marked, at its provider too where that was not done (`isEnded`), and deletes it unless
 * a connection or an open link uses it. False when the provider could not be asked: the next sweep asks it
 * again.
 */
export async function endMarked(
  options: ActionOptions,
  { id, userId }: Pick<LoginRef, 'id' | 'userId'>,
  { isEnded, askOptions }: { readonly isEnded: boolean; readonly askOptions: AskOptions },
): Promise<boolean> {
  const { store, adapters, clock } = options
  const login = await openLogin(store, id)
  if (login === null) return true
  if (!isEnded && login !== 'damaged') {
    // Without its variables it cannot be ended there; it waits for them.
    if (adapters[login.provider] === undefined) return true
    if ((await endEmptyLogin(options, login, askOptions)) !== null) return false
  }
  const isDeleted = await store.transact(async (tx) => {
    const isUnused = await tx.logins.startEnding(id, { now: clock.now() })
    if (isUnused) await tx.logins.deleteUnused(id)
    return isUnused
  })
  if (isDeleted) await forgetReadings(options, userId, login)
  return true
}

/**
 * Accounts without rows of which SnapTrade said within a minute that their data are ready: it is not asked
 * about them again (reading R20b).
 */
import { LRUCache } from 'lru-cache'
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { EmptyAnswer, Login } from '../port.ts'

const maxAccounts = 10_000

export type ReadyAccounts = ReturnType<typeof makeReadyAccounts>

export function makeReadyAccounts(clock: Clock) {
  const askedAt = new LRUCache<string, number>({ max: maxAccounts })
  // New credentials may see other accounts.
  const listKeys = (login: Login, { what, accounts }: Omit<EmptyAnswer, 'among'>) =>
    accounts.map(({ upstreamId }) => `${login.id} ${login.version} ${what} ${upstreamId}`)
  return {
    hasAll: (login: Login, empty: EmptyAnswer): boolean =>
      listKeys(login, empty).every((key) => {
        const age = clock.now() - (askedAt.get(key) ?? Number.NaN)
        return age >= 0 && age < minuteMs
      }),
    add(login: Login, empty: EmptyAnswer): void {
      for (const key of listKeys(login, empty)) askedAt.set(key, clock.now())
    },
    /** Rows came: where the account is empty next, SnapTrade is asked. */
    delete(login: Login, had: Omit<EmptyAnswer, 'among'>): void {
      for (const key of listKeys(login, had)) askedAt.delete(key)
    },
  }
}

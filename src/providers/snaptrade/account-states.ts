/**
 * What SnapTrade says of each account: whether it is open, and whether its data are ready and shared. Of a
 * login it is asked at most once a minute where one account among several is empty (reading R20b), and again
 * about an account that it did not name.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { AccountRef, CallContext, Login } from '../port.ts'
import type { SnapTradeClient } from './client.ts'
import type { Asker } from './keys.ts'
import { type WireAccount, WireAccounts } from './wire.ts'

/** Without names, numbers and balances, because it is remembered. */
export type AccountState = Pick<
  WireAccount,
  'id' | 'brokerage_authorization' | 'status' | 'is_paper' | 'sync_status'
>

export interface StatesAsked {
  readonly maxAgeMs: number
  /** What was known before is not used where it lacks one of them: it may be new. */
  readonly accounts: readonly AccountRef[]
}

export interface AccountStates {
  /** @param asked with `maxAgeMs` 0 what was known before is not used. */
  list(
    asked: StatesAsked & { readonly login: Login; readonly asker: Asker },
    call: CallContext,
  ): Promise<readonly AccountState[]>
}

const maxLogins = 1000

export function makeAccountStates(client: SnapTradeClient, clock: Clock): AccountStates {
  const recent = new LRUCache<
    string,
    { readonly at: number; readonly states: readonly AccountState[] }
  >({
    max: maxLogins,
  })
  const inProgress = new Map<string, Promise<unknown>>()

  async function ask(key: string, asker: Asker, call: CallContext) {
    const request = { route: '/accounts' }
    const states = (await client.fetchParsed(WireAccounts, request, asker, call)).map(toState)
    recent.set(key, { at: clock.now(), states })
    return states
  }

  return {
    async list({ login, asker, maxAgeMs, accounts }, call) {
      // New credentials may see other accounts.
      const key = `${login.id} ${login.version}`
      // Accounts are read at once; a failure goes to the caller that asked, and the next one asks again.
      if (maxAgeMs > 0) await inProgress.get(key)?.catch(() => undefined)
      const known = recent.get(key)
      const age = known === undefined ? Number.NaN : clock.now() - known.at
      const isRecent = known !== undefined && age >= 0 && age < maxAgeMs
      if (isRecent && hasAll(known.states, accounts)) return known.states
      const asking = ask(key, asker, call)
      inProgress.set(key, asking)
      try {
        return await asking
      } finally {
        if (inProgress.get(key) === asking) inProgress.delete(key)
      }
    },
  }
}

function hasAll(states: readonly AccountState[], accounts: readonly AccountRef[]): boolean {
  return accounts.every(({ upstreamId }) => states.some(({ id }) => id === upstreamId))
}

function toState(account: WireAccount): AccountState {
  const { id, brokerage_authorization, status, is_paper, sync_status } = account
  return { id, brokerage_authorization, status, is_paper, sync_status }
}

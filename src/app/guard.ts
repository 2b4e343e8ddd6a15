/** The guard of every call to a provider, with the breakers and the action that stores a lost consent. */
import { markLost } from '#connections/mark-lost.ts'
import { type Guard, makeGuard } from '#providers/guard.ts'
import type { Foundation } from './foundation.ts'

export function makeAppGuard({ store, kv, reports, failures }: Foundation): Guard {
  return makeGuard({
    breakers: kv.breakers,
    onConsentLost: ({ target, becomes, wholeLogin }) =>
      markLost(store, {
        login: { id: target.loginId, version: target.loginVersion },
        connectionId: wholeLogin ? null : target.connectionId,
        becomes,
      }),
    onBreakerOpen: reports.breakerOpen,
    onEnd: failures.reads.note,
  })
}

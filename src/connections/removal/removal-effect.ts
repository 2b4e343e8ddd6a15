/** What becomes of the consent when a connection is removed without asking for its end. Nothing is called. */
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { toLogin } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'
import type { Renewals } from '../renewal.ts'

export type RemovalEffect =
  /** The provider is asked to end it. */
  | 'ends'
  /** A key of the person's own is forgotten here, and works elsewhere. */
  | 'forgets_key'
  /** It was given elsewhere, and others may use it (`Adapter.leavesConsent`). */
  | 'leaves'

export type FindRemovalEffect = (row: ConnectionRow) => Promise<RemovalEffect>

export function makeFindRemovalEffect(
  { adapters, store }: Pick<ActionOptions, 'adapters' | 'store'>,
  renewals: Pick<Renewals, 'find'>,
): FindRemovalEffect {
  return async (row) => {
    if ((await renewals.find(row)) === 'key') return 'forgets_key'
    const adapter = adapters[row.provider]
    if (adapter?.leavesConsent === undefined) return 'ends'
    const login = await openLogin(store, row.loginId)
    if (login === null || login === 'damaged') return 'ends'
    return adapter.leavesConsent(toLogin(login)) ? 'leaves' : 'ends'
  }
}

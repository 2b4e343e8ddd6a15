/** What an action on users, keys and programs is made of: it changes rows in one transaction. */
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'

export interface AuthActionOptions {
  readonly store: Pick<Store, 'transact'>
  readonly clock: Clock
}

/**
 * Records that a consent or its credentials are lost (readings R20, R20b), whether a read or a refresh
 * detected it. A `revoked` connection never becomes `invalidated`, and a loss detected with credentials that
 * were replaced meanwhile changes nothing.
 */
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { Store } from '#store/ports/store.ts'

export interface Loss {
  /** The credentials that detected it. */
  readonly login: Pick<LoginRow, 'id' | 'version'>
  /** Null: the person's credentials as a whole are lost, and with them every connection of the login. */
  readonly connectionId: ConnectionId | null
  readonly becomes: Exclude<ConnectionStatus, 'active'>
}

export function markLost(
  store: Pick<Store, 'connections'>,
  { login, connectionId, becomes }: Loss,
): Promise<void> {
  const from = ['active', 'invalidated', 'pending_mfa'] as const
  return store.connections.saveLearntStatus({ login, connectionId, from, to: becomes })
}

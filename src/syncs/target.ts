/** What a run is about, as the store has it: the connection, its login, its accounts, the user's zone. */
import { LeaseLostError } from '#jobs/lease.ts'
import type { UserId } from '#kernel/ids.ts'
import { getZone, knownZone, type Zone } from '#kernel/time.ts'
import { consentGone } from '#providers/failure.ts'
import type { AccountRef, ConnectionRef, Login } from '#providers/port.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import { SyncError } from './failure.ts'
import type { SyncOptions } from './options.ts'

export interface SyncTarget {
  readonly userId: UserId
  readonly connection: ConnectionRef
  readonly login: Login
  readonly accounts: readonly AccountRef[]
  readonly zone: Zone
}

/**
 * @throws LeaseLostError when the connection is gone or being deleted; SyncError `consent_lost` when it is
 *   revoked: its provider is not asked for rows (reading R20b).
 */
export async function findSyncTarget(
  { store, defaultTimezone }: Pick<SyncOptions, 'store' | 'defaultTimezone'>,
  sync: ClaimedSync,
): Promise<SyncTarget> {
  const { connectionId, userId } = sync
  const row = await store.connections.get(userId, connectionId)
  const user = await store.users.findAccess(userId)
  if (row === null || row.status === 'deleting' || user === null) {
    throw new LeaseLostError('the connection is gone')
  }
  const { id, status, upstreamId } = row
  if (status === 'revoked') throw new SyncError('consent_lost', consentGone)
  const login = await store.logins.get(row.loginId)
  if (login === null) throw new Error(`connection ${id} has no login`)
  const accounts = await store.accounts.listByConnection(userId, connectionId)
  const { upstreamUserId, secret, version } = login
  return {
    userId,
    connection: { id, status, upstreamId },
    login: { id: login.id, userId, upstreamUserId, secret, version },
    accounts: accounts.map((account) => ({
      id: account.id,
      connectionId: account.connectionId,
      upstreamId: account.upstreamId,
      name: account.name,
      currency: account.currency,
    })),
    zone: getZone(knownZone(user.timezone) ?? defaultTimezone),
  }
}

/**
 * Asks the provider again what a login leads to, and writes down what changed: status, institution, accounts, time of
 * the last refresh. A provider knows links per login, so the other connections of the login are brought up to date too.
 * It adopts nothing new: a person decides what is linked.
 */
import { apiError } from '#contract/errors.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toApiError } from '#providers/guard.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { ConnectionRow, LoginRow } from '#store/port.ts'
import { askProvider, getAdapter, type Patience, toLogin } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'
import { holdConnections } from './held.ts'
import { reconcile } from './reconcile.ts'
import { updateConnection } from './save-discovery.ts'

export type RefreshConnection = (
  id: ConnectionId,
  patience: Pick<Patience, 'priority' | 'stop'>,
) => Promise<ConnectionRow>

/**
 * Makes the action. That consent or credentials are gone is an answer, not a failure: the connection comes back with
 * its new status.
 * @throws ApiError `connection_not_found`, `provider_not_configured`, other upstream failures by the one mapping.
 */
export function makeRefreshConnection(deps: ActionDeps): RefreshConnection {
  return async (id, patience) => {
    const { userId } = await findLiving(deps, id)
    return deps.turns.take(userId, async () => {
      const row = await findLiving(deps, id)
      const login = await deps.store.logins.get(row.loginId)
      if (login === null) throw new Error(`connection ${id} has no login`)
      await refreshLogin(deps, login, { ...patience, timeoutMs: deps.timeoutMs })
      return findLiving(deps, id)
    })
  }
}

async function findLiving(deps: ActionDeps, id: ConnectionId): Promise<ConnectionRow> {
  const row = await deps.store.connections.find(id)
  if (row === null || row.status === 'deleting') throw apiError('connection_not_found')
  return row
}

async function refreshLogin(deps: ActionDeps, login: LoginRow, patience: Patience): Promise<void> {
  const adapter = getAdapter(deps.adapters, login.provider)
  let discovered: readonly DiscoveredConnection[]
  try {
    discovered = await askProvider(login.provider, patience, (call) =>
      adapter.discover(toLogin(login), call),
    )
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (error.failure.kind !== 'consent_lost') throw toApiError(error)
    return markLost(deps, login, error.failure.becomes)
  }
  const { known, absent } = reconcile(await holdConnections(deps.store, login), discovered)
  for (const { row, found } of known) await updateConnection(deps, row, found)
  for (const row of absent) await deps.store.connections.setStatus(row.id, 'revoked')
}

/** The credentials themselves were refused. A withdrawn consent is not made to look like an expired one. */
async function markLost(
  deps: ActionDeps,
  login: LoginRow,
  becomes: Exclude<ConnectionStatus, 'active'>,
): Promise<void> {
  for (const row of await deps.store.connections.listByLogin(login.id)) {
    if (row.status !== 'revoked') await deps.store.connections.setStatus(row.id, becomes)
  }
}

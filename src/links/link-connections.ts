/**
 * Adopts the consents that a person has given at a provider: one connection per institution, with its accounts.
 * Linking again updates what is there and keeps its ids. Nothing is stored until the provider has answered.
 */
import { apiError } from '#contract/errors.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { newId } from '#kernel/ids.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toApiError } from '#providers/guard.ts'
import type { Credentials, DiscoveredConnection } from '#providers/port.ts'
import type { ConnectionRow } from '#store/port.ts'
import { askProvider, getAdapter } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'
import { holdConnections } from './held.ts'
import { reconcile } from './reconcile.ts'
import { saveDiscovered, updateConnection } from './save-discovery.ts'

export type LinkConnections = (
  userId: UserId,
  credentials: Credentials,
) => Promise<readonly ConnectionRow[]>

/**
 * Makes the action. It returns a connection for each link that the provider told of, newest first.
 * @throws ApiError `user_not_found`, `provider_not_configured`; `invalid_params` when the provider knows of no consent;
 * every upstream failure by the one mapping of the house.
 */
export function makeLinkConnections(deps: ActionDeps): LinkConnections {
  return (userId, credentials) =>
    deps.turns.take(userId, async () => {
      if ((await deps.store.users.find(userId)) === null) throw apiError('user_not_found')
      const { identity, discovered } = await meet(deps, credentials)
      if (discovered.length === 0) {
        throw apiError('invalid_params', {
          message: `Nothing to link: ${credentials.provider} knows of no consent for these credentials`,
          details: ['The person gives consent at the provider first; then link again.'],
        })
      }
      const login = await deps.store.logins.save({
        userId,
        provider: credentials.provider,
        ...identity,
      })
      const held = await holdConnections(deps.store, login)
      const { known, unknown, absent } = reconcile(held, discovered)
      const ids = new Set<ConnectionId>()
      for (const { row, found } of known) {
        await updateConnection(deps, row, found)
        ids.add(row.id)
      }
      for (const found of unknown) ids.add((await saveDiscovered(deps, login, found)).id)
      for (const row of absent) await deps.store.connections.setStatus(row.id, 'revoked')
      const rows = await deps.store.connections.list(userId)
      return rows.filter((row) => ids.has(row.id))
    })
}

/** Who the credentials belong to, and what they lead to. Nothing of it is stored yet. */
async function meet(
  deps: ActionDeps,
  credentials: Credentials,
): Promise<{
  readonly identity: { readonly upstreamUserId: string; readonly secret: string | null }
  readonly discovered: readonly DiscoveredConnection[]
}> {
  const { provider } = credentials
  const adapter = getAdapter(deps.adapters, provider)
  const patience = { timeoutMs: deps.timeoutMs, priority: 'user' } as const
  try {
    return await askProvider(provider, patience, async (call) => {
      const identity = await adapter.identify(credentials, call)
      // The login has no row yet: an id for this conversation alone.
      const login = { id: newId<LoginId>(), ...identity }
      return { identity, discovered: await adapter.discover(login, call) }
    })
  } catch (error) {
    throw error instanceof UpstreamError ? toApiError(error) : error
  }
}

/**
 * Removes a connection: invisible at once, then the consent is ended at the provider, then the rows are purged. When
 * the provider cannot be reached the connection stays `deleting` and `finishDeletions` tries again.
 */
import { apiError } from '#contract/errors.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { ConnectionRow } from '#store/port.ts'
import type { Patience } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'
import { type EndOfConsent, endConsent } from './end-consent.ts'

export type RemoveConnection = (id: ConnectionId) => Promise<void>

/**
 * Makes the action. It resolves when the connection is gone or waits, invisible, for its provider; asking again while
 * it waits tries at once.
 * @throws ApiError `connection_not_found`.
 */
export function makeRemoveConnection(deps: ActionDeps): RemoveConnection {
  return async (id) => {
    const row = await deps.store.connections.find(id)
    if (row === null) throw apiError('connection_not_found')
    // Before any turn is waited for: from now on nobody reads through this connection.
    await deps.store.connections.setStatus(id, 'deleting')
    await purgeConnection(deps, row, { timeoutMs: deps.timeoutMs, priority: 'user' })
  }
}

/** Ends the consent of a `deleting` connection and purges it, its login too when nothing else stands on it. */
export function purgeConnection(
  deps: ActionDeps,
  row: ConnectionRow,
  patience: Patience,
): Promise<EndOfConsent> {
  return deps.turns.take(row.userId, async () => {
    const { store, report } = deps
    const login = await store.logins.get(row.loginId)
    // Somebody else finished it while we waited for our turn.
    if (login === null) return { kind: 'ended' }
    const others = (await store.connections.listByLogin(login.id)).filter(({ id }) => id !== row.id)
    // Linked anew since: the consent has a new owner, and only our old row goes.
    const adopted = others.some(
      (other) => other.status !== 'deleting' && other.upstreamId === row.upstreamId,
    )
    const last = others.length === 0
    const end: EndOfConsent = adopted
      ? { kind: 'ended' }
      : await endConsent(deps, { login, row, last }, patience)
    const { provider, id: connectionId } = row
    if (end.kind === 'pending') {
      report.deletion({ provider, connectionId, outcome: 'pending', detail: end.detail })
      return end
    }
    await store.connections.delete(row.id)
    if (last) await store.logins.delete(login.id)
    report.deletion({ provider, connectionId, outcome: 'done', detail: '' })
    return end
  })
}

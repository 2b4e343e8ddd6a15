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

const outcomes = { ended: 'done', pending: 'pending', abandoned: 'abandoned' } as const

/** Ends the consent of a `deleting` connection and purges it, its login too when nothing else stands on it. */
export function purgeConnection(
  deps: ActionDeps,
  row: ConnectionRow,
  patience: Patience,
): Promise<EndOfConsent> {
  return deps.turns.take(row.userId, async () => {
    const { store, report } = deps
    const all = await store.connections.listByLogin(row.loginId)
    const others = all.filter(({ id }) => id !== row.id)
    // Somebody else finished it while we waited for our turn.
    if (others.length === all.length) return { kind: 'ended' }
    // Linked anew since: the consent has a new owner, and only our old row goes.
    const adopted = others.some(
      (other) => other.status !== 'deleting' && other.upstreamId === row.upstreamId,
    )
    const last = others.length === 0
    const end: EndOfConsent = adopted
      ? { kind: 'ended' }
      : await endConsent(deps, { row, last }, patience)
    if (end.kind !== 'pending') {
      await store.connections.delete(row.id)
      if (last) await store.logins.delete(row.loginId)
    }
    report.deletion({
      provider: row.provider,
      connectionId: row.id,
      outcome: outcomes[end.kind],
      detail: end.kind === 'ended' ? '' : end.detail,
    })
    return end
  })
}

/**
 * Removes a connection: it becomes invisible at once, then its consent is ended at the provider, then its
 * rows are deleted. When the provider is unavailable the connection stays `deleting`, and `finishDeletions`
 * tries again.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Asker, limitTime } from '../ask-provider.ts'
import { type EndOfConsent, endConsent } from '../end-consent.ts'
import type { ActionOptions } from '../options.ts'
import { turnAt } from '../turns.ts'
import { endMarked } from './end-abandoned.ts'

export interface RemoveOptions {
  /** The consent behind a person's own key ends at the provider too. Other consents always do. */
  readonly endsAtProvider?: boolean
}

/** `leaving`: it is invisible; its rows are deleted when its provider has confirmed the consent's end. */
export type Removal = 'removed' | 'leaving'

export type RemoveConnection = (
  by: By,
  id: ConnectionId,
  askOptions?: RemoveOptions,
) => Promise<Removal>

/**
 * Makes the action. An operator waits as long as a request may take, a person no longer than a moment; the
 * end at the provider goes on after that. Calling it again for one that is leaving tries at once.
 * @throws ApiError `connection_not_found`; `invalid_params` when the end at a provider is asked for that has
 *   no call for it.
 */
export function makeRemoveConnection(options: ActionOptions): RemoveConnection {
  return async (by, id, { endsAtProvider = false } = {}) => {
    const row = await options.store.connections.find(id)
    if (row === null || !mayActFor(by, row.userId)) throw apiError('connection_not_found')
    if (endsAtProvider) demandCall(row.provider)
    // Done before waiting in the queue: from now on nobody can read through this connection.
    await options.store.transact(async (tx) => {
      // A repeated removal changes nothing here, so it has no audit row; it tries again at the provider.
      const at = options.clock.now()
      if (!(await tx.connections.startDeletion(id, { endsAtProvider, at }))) return
      await tx.audit({
        at,
        actor: by.actor,
        action: 'connections.remove',
        userId: row.userId,
        details: { connectionId: id, endsAtProvider },
      })
    })
    const end = async (stop: AbortSignal) => {
      await purgeConnection(options, row, { priority: 'user', stop })
    }
    const waitMs = by.actor.kind === 'person' ? undefined : options.timeoutMs
    await options.late.begin(`removal ${id}`, end, waitMs)
    return (await options.store.connections.find(id)) === null ? 'removed' : 'leaving'
  }
}

function demandCall(provider: Provider): void {
  if (factsOf(provider).endsConsents) return
  const details = [
    `atProvider: ${provider} has no call that ends a token; remove the connection without it, and end the token at the provider`,
  ]
  throw apiError('invalid_params', { details })
}

const outcomes = { ended: 'done', pending: 'pending', abandoned: 'abandoned' } as const

/**
 * Sandbox mode: several users may link one made-up person, whose consent then stays for the others. Elsewhere
 * a consent is one person's, and its removal ends it.
 */
async function isLinkedByOthers(
  { store, sharesPersonalKeys }: ActionOptions,
  { loginId, userId, provider, endsAtProvider }: ConnectionRow,
): Promise<boolean> {
  if (sharesPersonalKeys !== true || endsAtProvider) return false
  const login = await store.logins.find(loginId)
  if (login === null) return false
  const { upstreamUserId } = login
  const logins = await store.logins.listByUpstream({ provider, upstreamUserId, limit: 2 })
  return logins.some((other) => other.userId !== userId)
}

/** Ends the consent of a `deleting` connection and deletes the row, and a login that no other uses. */
export function purgeConnection(
  options: ActionOptions,
  row: ConnectionRow,
  asked: Asker,
): Promise<EndOfConsent> {
  return options.queue.take(turnAt(row), async () => {
    const { store, report } = options
    const askOptions = limitTime(options, asked)
    const all = await store.connections.listByLogin(row.loginId)
    const others = all.filter(({ id }) => id !== row.id)
    // As it is now: what was asked for may have changed while this call waited in the queue.
    const current = all.find(({ id }) => id === row.id)
    // It was finished elsewhere meanwhile.
    if (current === undefined) return { kind: 'ended' }
    // The same consent was linked again since, so it is kept and only the old row is deleted.
    const adopted = others.some(
      (other) => other.status !== 'deleting' && other.upstreamId === row.upstreamId,
    )
    // The consent of an open link uses the login too. The sweep ends a login that nothing came of.
    const now = options.clock.now()
    const last = await store.logins.startEnding(row.loginId, { now, but: row.id })
    const isKept = adopted || (await isLinkedByOthers(options, current))
    const end: EndOfConsent = isKept
      ? { kind: 'ended' }
      : await endConsent(options, { row: current, last }, askOptions)
    if (end.kind !== 'pending') {
      const isUnused = await store.transact(async (tx) => {
        await tx.connections.delete(row.id)
        // A list of consents that was read before this end must not bring the connection back.
        await tx.logins.noteConsents(row.loginId)
        // When several processes remove connections at once none was the last one until now.
        return tx.logins.startEnding(row.loginId, { now: options.clock.now() })
      })
      const login = { id: row.loginId, userId: row.userId }
      if (isUnused) await endMarked(options, login, { isEnded: last, askOptions })
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

/**
 * Deletes a person. First all access in their name ends (keys, sessions, agents, connections) and nothing
 * more is stored for them; then their consents are ended at the providers, as far as these answer in time;
 * then all their data is deleted. A provider that is unavailable, or a secret that does not decrypt, is
 * reported and does not stop the deletion. The sweep finishes an interrupted deletion.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { runInBatches } from '#jobs/batches.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { openLogin } from '#store/open-login.ts'
import { type AskOptions, limitTime } from '../ask-provider.ts'
import { endConsent, endEmptyLogin } from '../end-consent.ts'
import type { ActionOptions } from '../options.ts'

/** How one connection ended: false where the consent may remain at the provider. */
export interface EndedConnection {
  readonly connectionId: ConnectionId
  readonly isEnded: boolean
}

/**
 * False when there is no such user. Aborting `stop` interrupts the deletion; a later sweep finishes it.
 * `note` is called once for each connection whose end was tried.
 */
export type DeleteUser = (
  by: By,
  id: UserId,
  stop?: AbortSignal,
  note?: (end: EndedConnection) => void,
) => Promise<boolean>

/** Each with its deliveries, of which an event has at most 80 (retention.ts). */
const eventsAtOnce = 10
const maxEventBatches = 100_000
const never = new AbortController().signal

/** All consents together share the time limit of one action; the providers are called concurrently. */
export function makeDeleteUser(options: ActionOptions): DeleteUser {
  const { store, clock } = options
  return async (by, id, stop, note = () => {}) => {
    if (!mayActFor(by, id)) return false
    for (const endpoint of await store.endpoints.list(id))
      await store.deliveries.deleteEnded(endpoint.id)
    // Done before any provider is called, and while other work of the person may be under way.
    const isBegun = await store.transact(async (tx) => {
      const at = clock.now()
      if (!(await tx.users.disarm(id, at))) return false
      // A deletion by the sweep continues one that was started before.
      if (by.actor.kind === 'system') return true
      await tx.audit({ at, actor: by.actor, action: 'users.delete', userId: id, details: {} })
      return true
    })
    if (!isBegun) return false
    // Only a deletion that is repeated waits, for the one before.
    return options.queue.take(id, async () => {
      const askOptions = limitTime(options, { priority: 'user', stop })
      const ended = new Set<LoginId>()
      // Looks for logins again before the row is deleted: an older version of this software ignores the mark.
      for (;;) {
        const logins = (await store.logins.listIds(id)).filter((login) => !ended.has(login))
        if (logins.length === 0) break
        await Promise.all(logins.map((login) => endLogin(options, login, { askOptions, note })))
        if (stop?.aborted === true) return true
        for (const login of logins) ended.add(login)
      }
      // The cascade of the user's row would take all events in one statement.
      const deleteEvents = () => store.events.deleteOf(id, eventsAtOnce)
      await runInBatches(deleteEvents, { maxBatches: maxEventBatches, stop: stop ?? never })
      if (stop?.aborted === true) return true
      const isDeleted = await store.users.delete(id)
      // What was read in their name, and their cached answers, in every process that shares them.
      await options.readings?.forget({ userId: id, secret: null })
      return isDeleted
    })
  }
}

interface Until {
  readonly askOptions: AskOptions
  readonly note: (end: EndedConnection) => void
}

async function endLogin(
  options: ActionOptions,
  login: LoginId,
  { askOptions, note }: Until,
): Promise<void> {
  const rows = await options.store.connections.listByLogin(login)
  if (rows.length === 0) {
    // A link was begun and its consent never adopted.
    const row = await openLogin(options.store, login)
    if (row !== null && row !== 'damaged') await endEmptyLogin(options, row, askOptions)
    return
  }
  for (const [index, row] of rows.entries()) {
    const last = index === rows.length - 1
    const end = await endConsent(options, { row, last }, askOptions)
    if (askOptions.stop?.aborted === true) return
    note({ connectionId: row.id, isEnded: end.kind === 'ended' })
    options.report.deletion({
      provider: row.provider,
      connectionId: row.id,
      outcome: end.kind === 'ended' ? 'done' : 'abandoned',
      detail: end.kind === 'ended' ? '' : end.detail,
    })
  }
}

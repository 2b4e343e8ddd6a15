/**
 * A person asks on a page whether a connection still works: it is refreshed at once, with the priority of a
 * user, and its sync becomes due, which reads rows where the provider's rate of scheduled reads allows it.
 * Not more often than once a minute for a connection, so that a button costs no provider's budget.
 */
import { type By, mayActFor, type Person } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { minuteMs } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { ActionOptions } from './options.ts'
import type { RefreshConnection } from './refresh-connection.ts'

export type CheckResult =
  | { readonly kind: 'checked'; readonly row: ConnectionRow }
  /** The provider takes longer than a moment; the result of the sync that follows says what came of it. */
  | { readonly kind: 'under_way' | 'too_soon' }

/** @throws ApiError `connection_not_found`, and what a refresh throws within a moment. */
export type CheckConnection = (by: By<Person>, id: ConnectionId) => Promise<CheckResult>

const everyMs = minuteMs

export function makeCheckConnection(
  { store, clock, windows, late }: Pick<ActionOptions, 'store' | 'clock' | 'windows' | 'late'>,
  refresh: RefreshConnection,
): CheckConnection {
  const requestSync = (id: ConnectionId) =>
    store.syncs.request(id, { at: clock.now(), reason: 'schedule' })
  return async (by, id) => {
    const known = await store.connections.find(id)
    if (known === null || known.status === 'deleting' || !mayActFor(by, known.userId)) {
      throw apiError('connection_not_found')
    }
    const { allowed } = await windows.take(`check:${id}`, 1, everyMs)
    if (!allowed) return { kind: 'too_soon' }
    let isAnswered = false
    const hasEnded = await late.begin(`refresh ${id}`, async (stop) => {
      try {
        await refresh(by, id, { priority: 'user', stop, person: by.person })
      } catch (error) {
        // Nobody waits for its words any more: the sync stores why it fails.
        if (isAnswered) await requestSync(id)
        throw error
      }
      await requestSync(id)
    })
    isAnswered = true
    const row = hasEnded ? await store.connections.find(id) : null
    return row === null ? { kind: 'under_way' } : { kind: 'checked', row }
  }
}

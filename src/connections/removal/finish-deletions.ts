/**
 * The background sweep for unfinished deletions: connections whose provider has not ended the consent yet,
 * then users whose deletion was interrupted, then logins that links in a browser left behind. It runs at the
 * start and every few minutes, one deletion at a time. Once a provider is unavailable, it is skipped for the
 * rest of the sweep. Each sweep continues after the previous one, or, where that one covered all of them,
 * with the first that it skipped, so that deletions that keep failing do not block the others: with people's
 * own keys the failure may concern one login alone.
 */
import { bySystem } from '#contract/actor.ts'
import type { Provider } from '#contract/resources.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { minuteMs } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { Store } from '#store/ports/store.ts'
import type { EndOfConsent } from '../end-consent.ts'
import type { ActionOptions } from '../options.ts'
import type { DeleteUser } from './delete-user.ts'
import { makeEndAbandoned } from './end-abandoned.ts'
import { purgeConnection } from './remove-connection.ts'

/** Aborting `stop` ends the current provider call and starts no other. `done`: deleted in this process. */
export type FinishDeletions = (
  stop?: AbortSignal,
) => Promise<{ readonly done: number; readonly pending: number }>

/** Per sweep; the rest waits for the next one. */
const maxPerSweep = 500
const maxUsersPerSweep = 20
const abandonedMs = 5 * minuteMs
const defaultEveryMs = 5 * minuteMs

/** Makes the sweep; a call during a running sweep joins it. */
export function makeFinishDeletions(
  options: ActionOptions,
  deleteUser: DeleteUser,
): FinishDeletions {
  const endAbandoned = makeEndAbandoned(options)
  let running: ReturnType<FinishDeletions> | null = null
  /** The last connection before the first one that was skipped. */
  let reached: ConnectionId | null = null

  async function sweep(stop: AbortSignal) {
    const unavailable = new Set<Provider>()
    let done = 0
    let pending = 0
    let hasSkipped = false
    const round = await listRound(options.store, reached)
    // With more connections than fit, those behind this round come next, whatever was skipped.
    const isWhole = round.length < maxPerSweep
    for (const row of round) {
      if (stop.aborted) break
      if (unavailable.has(row.provider)) {
        hasSkipped = isWhole
        if (!isWhole) reached = row.id
        pending += 1
        continue
      }
      if (!hasSkipped) reached = row.id
      const end = await purgeConnection(options, row, { priority: 'background', stop })
      if (end.kind === 'pending') pending += 1
      else done += 1
      if (isUnavailable(end)) unavailable.add(row.provider)
    }
    await finishUsers(stop)
    await endAbandoned(stop)
    return { done, pending }
  }

  /** Users whose deletion started so long ago that the process that started it must have stopped. */
  async function finishUsers(stop: AbortSignal): Promise<void> {
    const before = options.clock.now() - Math.max(abandonedMs, 2 * options.timeoutMs)
    const users = await options.store.users.listDeleting({ before, limit: maxUsersPerSweep })
    for (const id of users) {
      if (stop.aborted) return
      await deleteUser(bySystem, id, stop)
    }
  }

  return (stop = new AbortController().signal) => {
    running ??= sweep(stop).finally(() => {
      running = null
    })
    return running
  }
}

/** True when the next connection of the same provider would fail too. */
function isUnavailable(end: EndOfConsent): boolean {
  if (end.kind !== 'pending') return false
  const kind = end.failure
  switch (kind) {
    case null:
    case 'unavailable':
    case 'throttled':
    case 'misconfigured':
      return true
    case 'rejected':
    case 'account_gone':
    case 'malformed':
    case 'preparing':
    case 'consent_lost':
      return false
    default:
      return unreachable(kind)
  }
}

/** Connections after `reached` first, then those before it: one full round. */
async function listRound(
  store: Store,
  reached: ConnectionId | null,
): Promise<readonly ConnectionRow[]> {
  const { connections } = store
  const behind = await connections.listDeleting({ after: reached, limit: maxPerSweep })
  const room = maxPerSweep - behind.length
  if (reached === null || room === 0) return behind
  const front = await connections.listDeleting({ after: null, limit: room })
  return [...behind, ...front.filter((row) => row.id <= reached)]
}

/**
 * The sweep as a task that runs every `everyMs` (five minutes). Stopping it aborts the current provider call.
 */
export function makeDeletionSweep(
  finishDeletions: FinishDeletions,
  everyMs = defaultEveryMs,
): PeriodicTask {
  return {
    name: 'deletion-sweep',
    everyMs,
    firstRun: 'at_once',
    async run(stop) {
      await finishDeletions(stop)
    },
  }
}

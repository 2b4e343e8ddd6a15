/**
 * The background sweep over connections that wait for their provider to end a consent. It runs at the start and every
 * few minutes, one connection after another, and leaves a provider alone for the rest of a sweep once it is away. Each
 * sweep goes on where the one before it ended, so that many that are stuck do not keep the others waiting.
 */
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { ConnectionRow, Store } from '#store/port.ts'
import type { ActionDeps } from './deps.ts'
import type { EndOfConsent } from './end-consent.ts'
import { purgeConnection } from './remove-connection.ts'

/** Aborting `stop` ends the call to a provider that is under way, and no other is begun. `done`: purged here. */
export type FinishDeletions = (
  stop?: AbortSignal,
) => Promise<{ readonly done: number; readonly pending: number }>

/** Per sweep; what is left waits for the next one. */
const maxPerSweep = 500
const defaultEveryMs = 5 * 60_000

/** Makes the sweep; a second one that is begun while one runs joins it. */
export function makeFinishDeletions(deps: ActionDeps): FinishDeletions {
  let running: ReturnType<FinishDeletions> | null = null
  /** The last one that was looked at. */
  let reached: ConnectionId | null = null

  async function sweep(stop: AbortSignal) {
    const away = new Set<Provider>()
    let done = 0
    let pending = 0
    for (const row of await listRound(deps.store, reached)) {
      if (stop.aborted) break
      reached = row.id
      if (away.has(row.provider)) {
        pending += 1
        continue
      }
      const patience = { timeoutMs: deps.timeoutMs, priority: 'background', stop } as const
      const end = await purgeConnection(deps, row, patience)
      if (end.kind === 'pending') pending += 1
      else done += 1
      if (isAway(end)) away.add(row.provider)
    }
    return { done, pending }
  }

  return (stop = new AbortController().signal) => {
    running ??= sweep(stop).finally(() => {
      running = null
    })
    return running
  }
}

/** Whether the next connection of the same provider would fare no better. */
function isAway(end: EndOfConsent): boolean {
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

/** Those behind `reached` first, then from the front up to it: a round that ends where it began. */
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

export interface DeletionSweep {
  /** No further sweep; the one under way ends with the call that it is in, which is aborted. */
  stop(): Promise<void>
}

/** Sweeps now and every `everyMs` (five minutes). A sweep that fails is reported and tried again. */
export function startDeletionSweep(
  finishDeletions: FinishDeletions,
  options: { readonly report: ActionDeps['report']; readonly everyMs?: number },
): DeletionSweep {
  const stopping = new AbortController()
  let current: Promise<unknown> = Promise.resolve()
  const run = () => {
    current = finishDeletions(stopping.signal).catch((error: unknown) =>
      options.report.sweepFailed(error),
    )
  }
  run()
  const timer = setInterval(run, options.everyMs ?? defaultEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      stopping.abort(new Error('this process is stopping'))
      await current
    },
  }
}

/**
 * The background sweep over connections that wait for their provider to end a consent. It runs at the start and every
 * few minutes, one connection after another, and leaves a provider alone for the rest of a sweep once it is away.
 */
import type { Provider } from '#contract/resources.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { ConnectionRow, Store } from '#store/port.ts'
import type { ActionDeps } from './deps.ts'
import type { EndOfConsent } from './end-consent.ts'
import { purgeConnection } from './remove-connection.ts'

export type FinishDeletions = () => Promise<{ readonly done: number; readonly pending: number }>

/** Per sweep; what is left waits for the next one. */
const maxPerSweep = 500
const defaultEveryMs = 5 * 60_000

/** Makes the sweep; a second one that is begun while one runs joins it. */
export function makeFinishDeletions(deps: ActionDeps): FinishDeletions {
  let running: ReturnType<FinishDeletions> | null = null

  async function sweep() {
    const away = new Set<Provider>()
    let done = 0
    let pending = 0
    for (const row of await listDeleting(deps.store)) {
      if (away.has(row.provider)) {
        pending += 1
        continue
      }
      const patience = { timeoutMs: deps.timeoutMs, priority: 'background' } as const
      const end = await purgeConnection(deps, row, patience)
      if (end.kind === 'ended') done += 1
      else pending += 1
      if (isAway(end)) away.add(row.provider)
    }
    return { done, pending }
  }

  return () => {
    running ??= sweep().finally(() => {
      running = null
    })
    return running
  }
}

/** Whether the next connection of the same provider would fare no better. */
function isAway(end: EndOfConsent): boolean {
  if (end.kind === 'ended') return false
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

async function listDeleting(store: Store): Promise<readonly ConnectionRow[]> {
  const waiting: ConnectionRow[] = []
  for (const user of await store.users.list()) {
    for (const login of await store.logins.list(user.id)) {
      const rows = await store.connections.listByLogin(login.id)
      waiting.push(...rows.filter((row) => row.status === 'deleting'))
      if (waiting.length >= maxPerSweep) return waiting.slice(0, maxPerSweep)
    }
  }
  return waiting
}

export interface DeletionSweep {
  /** No further sweep; resolves when the one under way has ended. */
  stop(): Promise<void>
}

/** Sweeps now and every `everyMs` (five minutes). A sweep that fails is reported and tried again. */
export function startDeletionSweep(
  finishDeletions: FinishDeletions,
  options: { readonly report: ActionDeps['report']; readonly everyMs?: number },
): DeletionSweep {
  let current: Promise<unknown> = Promise.resolve()
  const run = () => {
    current = finishDeletions().catch((error: unknown) => options.report.sweepFailed(error))
  }
  run()
  const timer = setInterval(run, options.everyMs ?? defaultEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await current
    },
  }
}

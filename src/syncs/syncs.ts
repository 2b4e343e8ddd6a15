/**
 * Assembles the room of syncs: connections are read for new and changed rows when they are due or on request.
 * Doors and the background work use only the functions of this file.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { SyncDeps } from './deps.ts'
import { makeRunSync } from './run-sync.ts'
import { makeRuns } from './runs.ts'
import { makeSyncNow, type SyncNow } from './sync-now.ts'
import { makeRunSweep, makeSyncClaim, makeSyncWaitCheck } from './worker.ts'

export type { SyncReport, SyncRunReport } from './deps.ts'

export interface Syncs {
  readonly runSync: SyncNow
  /** Claims due syncs; wake it when one becomes due and on `onFree`. */
  readonly claim: PeriodicTask
  /** Further background work. */
  readonly tasks: readonly PeriodicTask[]
  /** Called whenever a run of this process has ended, so that another can start. */
  onFree(listener: () => void): void
  /** Runs have `graceMs` to end, then they are aborted and their leases released. Stop the tasks first. */
  close(graceMs: number): Promise<void>
}

/** Assembles it; nothing runs before the tasks are started. */
export function makeSyncs(deps: SyncDeps): Syncs {
  let listener = () => {}
  const { store, clock } = deps
  const runs = makeRuns({ run: makeRunSync(deps), onEnd: () => listener() })
  const parts = { syncs: store.syncs, clock, runs }
  return {
    runSync: makeSyncNow({ deps, runs }),
    claim: makeSyncClaim(parts),
    tasks: [makeRunSweep(parts), makeSyncWaitCheck(parts, deps.intervalMinutes)],
    onFree(given) {
      listener = given
    },
    close: (graceMs) => runs.close(graceMs),
  }
}

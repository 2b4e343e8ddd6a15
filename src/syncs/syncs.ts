/**
 * Assembles the room of syncs: connections are read for new and changed rows when they are due or on request.
 * Doors and the background work use only the functions of this file.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { SyncOptions } from './options.ts'
import { makeRunSync } from './run-sync.ts'
import { makeRuns } from './runs.ts'
import { makeSyncNow, type SyncNow } from './sync-now.ts'
import { makeRunSweep, makeSyncClaim, makeSyncWaitCheck } from './worker.ts'

export type { SyncReport, SyncRunReport } from './options.ts'

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
export function makeSyncs(options: SyncOptions): Syncs {
  let listener = () => {}
  const { store, clock } = options
  const runs = makeRuns({ run: makeRunSync(options), onEnd: () => listener() })
  const worker = { syncs: store.syncs, clock, runs }
  return {
    runSync: makeSyncNow({ ...options, runs }),
    claim: makeSyncClaim(worker),
    tasks: [makeRunSweep(worker), makeSyncWaitCheck(worker, options.intervalMinutes)],
    onFree(given) {
      listener = given
    },
    close: (graceMs) => runs.close(graceMs),
  }
}

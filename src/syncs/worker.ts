/**
 * The background work of syncs: runs what is due in this process, at most so many at once, and so many of one provider.
 * Due ones are claimed one by one, the oldest first, whenever there is room.
 */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { Clock } from '#kernel/time.ts'
import type { SyncStore } from '#store/ports/syncs.ts'
import { leaseMs } from './lease.ts'
import type { Runs } from './runs.ts'

export interface WorkerDeps {
  readonly syncs: SyncStore
  readonly clock: Clock
  readonly runs: Runs
}

/** Runs in this process; in all of them a provider is asked by more. */
const maxRuns = 4
const maxRunsOfProvider = 2
/** What became due without a nudge, and leases that expired, wait at most so long. */
const claimEveryMs = 10_000
const sweepEveryMs = 6 * 3_600_000
const keptRunsMs = 30 * 86_400_000
const sweepLimit = 500
const maxSweepBatches = 100

/** Claims what is due; to be woken when a sync becomes due and when a run has ended. */
export function makeSyncClaim({ syncs, clock, runs }: WorkerDeps): PeriodicTask {
  return {
    name: 'sync-claim',
    everyMs: claimEveryMs,
    firstRun: 'at_once',
    async run(stop) {
      while (!stop.aborted && runs.count() < maxRuns) {
        const except = runs.listBusy(maxRunsOfProvider)
        const [sync] = await syncs.claimDue({ now: clock.now(), leaseMs, limit: 1, except })
        if (sync === undefined) return
        void runs.start(sync)
      }
    },
  }
}

/** Deletes runs that began more than 30 days ago. */
export function makeRunSweep({ syncs, clock }: WorkerDeps): PeriodicTask {
  return {
    name: 'sync-run-sweep',
    everyMs: sweepEveryMs,
    firstRun: 'after_wait',
    run: (stop) =>
      runInBatches(() => syncs.sweepRuns({ before: clock.now() - keptRunsMs, limit: sweepLimit }), {
        maxBatches: maxSweepBatches,
        stop,
      }),
  }
}

/**
 * The background work of syncs: runs due syncs in this process while it has free places, and only a few of
 * one provider. They are claimed one by one, the oldest first.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, clockDriftMs, dayMs, hourMs } from '#kernel/time.ts'
import type { SyncStore } from '#store/ports/syncs.ts'
import { runLeaseMs } from './lease.ts'
import type { Runs } from './runs.ts'
import { longestSyncWaitMs } from './schedule.ts'

export interface WorkerOptions {
  readonly syncs: SyncStore
  readonly clock: Clock
  readonly runs: Runs
}

/** A limit of this process; several processes together may run more syncs of one provider. */
const maxRunsOfProvider = 2
/** The longest wait for work that became due without a notification, and for expired leases. */
const claimEveryMs = 10_000
const checkWaitsEveryMs = 600_000
const sweepEveryMs = 6 * hourMs
const keptRunsMs = 30 * dayMs
const sweepLimit = 500
const maxSweepBatches = 100

/** Claims due syncs; wake it when a sync becomes due and when a run has ended. */
export function makeSyncClaim({ syncs, clock, runs }: WorkerOptions): PeriodicTask {
  const claimOne = async () => {
    const except = runs.listBusy(maxRunsOfProvider)
    const [sync] = await syncs.claimDue({ now: clock.now(), leaseMs: runLeaseMs, limit: 1, except })
    return sync
  }
  return {
    name: 'sync-claim',
    everyMs: claimEveryMs,
    firstRun: 'at_once',
    async run(stop) {
      while (!stop.aborted) {
        const place = runs.places.take()
        if (place === null) return
        const sync = await claimOne().catch((error: unknown) => {
          place.release()
          throw error
        })
        // Not by `giveBack`, which would wake this task again.
        if (sync === undefined) return place.release()
        void runs.start(sync, { place })
        // On SQLite a claim and a run may end without one, and thousands of syncs may be due.
        await nextTurn()
      }
    },
  }
}

/** Deletes runs that began more than 30 days ago. */
export function makeRunSweep({ syncs, clock }: WorkerOptions): PeriodicTask {
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

/** Repairs due times and leases of a clock that was set back: no sync waits until it is there again. */
export function makeSyncWaitCheck(
  { syncs, clock }: Pick<WorkerOptions, 'syncs' | 'clock'>,
  intervalMinutes: number,
): PeriodicTask {
  return {
    name: 'sync-waits',
    everyMs: checkWaitsEveryMs,
    firstRun: 'at_once',
    async run() {
      const longestMs = longestSyncWaitMs(intervalMinutes) + clockDriftMs
      await syncs.shortenWaits({ now: clock.now(), leaseMs: runLeaseMs, longestMs })
    },
  }
}

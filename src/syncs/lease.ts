/** The lease of a run. A run that lost it is aborted: another process may have the connection meanwhile. */
import { type HeldLease, holdLease } from '#jobs/lease.ts'
import type { JobReport } from '#jobs/periodic.ts'
import type { Clock } from '#kernel/time.ts'
import type { ClaimedSync, SyncStore } from '#store/ports/syncs.ts'

/** Longer than a short outage of the store, which a run survives. */
export const runLeaseMs = 120_000
const renewEveryMs = 30_000
const task = 'sync-lease'

interface RunLeaseOptions {
  readonly syncs: Pick<SyncStore, 'renew'>
  readonly clock: Clock
  readonly jobs: JobReport
}

export function holdRun(
  { syncs, clock, jobs }: RunLeaseOptions,
  { runId, leaseUntil }: ClaimedSync,
): HeldLease {
  return holdLease({
    clock,
    leaseMs: runLeaseMs,
    everyMs: renewEveryMs,
    leaseUntil,
    isLostAtEnd: true,
    async renew(until) {
      const isRenewed = await syncs.renew(runId, until)
      jobs.done(task)
      return isRenewed
    },
    onFailure: (error) => jobs.failed(task, error),
  })
}

/**
 * Renews the lease of a run until the run ends. When the lease is lost, or could not be renewed before it expired, the
 * run is aborted, because another process may have leased the connection meanwhile.
 */
import { type JobReport, startPeriodic } from '#jobs/periodic.ts'
import type { Clock } from '#kernel/time.ts'
import type { ClaimedSync, SyncStore } from '#store/ports/syncs.ts'
import { LeaseLostError } from './failure.ts'

/** Longer than a short outage of the store, which a run survives. */
export const leaseMs = 120_000
const renewEveryMs = 30_000

export interface HeldLease {
  /** Aborted with a LeaseLostError. */
  readonly signal: AbortSignal
  /** Ends the renewals; resolves when none is in progress. The lease itself ends with the run. */
  release(): Promise<void>
}

interface LeaseDeps {
  readonly syncs: Pick<SyncStore, 'renew'>
  readonly clock: Clock
  readonly jobs: JobReport
}

export function holdLease(deps: LeaseDeps, sync: ClaimedSync, everyMs = renewEveryMs): HeldLease {
  const { syncs, clock, jobs } = deps
  const lost = new AbortController()
  let leaseUntil = sync.leaseUntil
  const renewing = startPeriodic(
    {
      name: 'sync-lease',
      everyMs,
      firstRun: 'after_wait',
      async run() {
        if (clock.now() >= leaseUntil) lost.abort(new LeaseLostError('the lease ended'))
        if (lost.signal.aborted) return
        const until = clock.now() + leaseMs
        if (await syncs.renew(sync.runId, until)) leaseUntil = until
        else lost.abort(new LeaseLostError('another process has the connection'))
      },
    },
    jobs,
  )
  return { signal: lost.signal, release: () => renewing.stop() }
}

/**
 * The background work of a process, each task in the one periodic loop. A process with `ROLE=api` does none
 * of it; other processes do the due work.
 */
import { makeOAuthSweep } from '#auth/oauth/sweep.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeSignInSweep } from '#auth/sign-in/sign-in-sweep.ts'
import { makeDeletionSweep } from '#connections/connections.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import type { Syncs } from '#syncs/syncs.ts'
import { makeUsageSweep } from '#usage/sweep.ts'
import { startDeliveries } from './deliveries.ts'
import type { AssemblyOptions } from './foundation.ts'
import { startMails } from './mails.ts'

interface BackgroundOptions extends AssemblyOptions {
  readonly syncs: Syncs
}

export interface Background {
  /**
   * Starts no new work and resolves when current work has ended. Syncs have `graceMs`, then they are aborted.
   */
  stop(graceMs: number): Promise<void>
}

export function startBackground(options: BackgroundOptions): Background {
  const { store, clock, connections, reports, syncs } = options
  const sessions = makeSessions({ store, clock })
  const jobs = [
    makeDeletionSweep(connections.finishDeletions),
    makeSignInSweep({ sessions, store, clock }),
    makeOAuthSweep(store.oauth, clock),
    makeUsageSweep(store, clock),
    ...syncs.tasks,
  ].map((task) => startPeriodic(task, reports.jobs))
  const claims = startPeriodic(syncs.claim, reports.jobs)
  syncs.onFree(() => claims.wake())
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'sync') claims.wake()
  })
  const deliveries = startDeliveries(options)
  const mails = startMails(options)
  return {
    async stop(graceMs) {
      unsubscribe()
      const syncsEnd = claims.stop().then(() => syncs.close(graceMs))
      await Promise.all([
        deliveries.stop(),
        mails.stop(),
        syncsEnd,
        ...jobs.map((job) => job.stop()),
      ])
    },
  }
}

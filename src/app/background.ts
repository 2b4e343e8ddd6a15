/**
 * The background work of a process, each task in the one periodic loop. A process with `ROLE=api` does none of it; other
 * processes do the due work.
 */
import { makeOAuthSweep } from '#auth/oauth/sweep.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeSignInSweep } from '#auth/sign-in/sign-in-sweep.ts'
import { makeDeletionSweep } from '#connections/connections.ts'
import { makeUsageSweep } from '#gate/usage-sweep.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import type { Origins } from '#settings/config-types.ts'
import type { Syncs } from '#syncs/syncs.ts'
import { startDeliveries } from './deliveries.ts'
import type { Foundation } from './foundation.ts'
import { startMails } from './mails.ts'
import type { AppOptions } from './options.ts'

type BackgroundParts = AppOptions &
  Foundation & {
    readonly syncs: Syncs
    /** Read for each mail: with port 0 they are known once the listener is bound (reading R2). */
    readonly origins: () => Origins
  }

export interface Background {
  /** Starts no new work and resolves when current work has ended. Syncs have `graceMs`, then they are aborted. */
  stop(graceMs: number): Promise<void>
}

export function startBackground(parts: BackgroundParts): Background {
  const { store, clock, connections, reports, syncs } = parts
  const sessions = makeSessions({ store, clock })
  const jobs = [
    makeDeletionSweep(connections.finishDeletions),
    makeSignInSweep({ sessions, store, clock }),
    makeOAuthSweep(store.oauth, clock),
    makeUsageSweep(store.usage, clock),
    ...syncs.tasks,
  ].map((task) => startPeriodic(task, reports.jobs))
  const claims = startPeriodic(syncs.claim, reports.jobs)
  syncs.onFree(() => claims.wake())
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'sync') claims.wake()
  })
  const deliveries = startDeliveries(parts)
  const mails = startMails(parts)
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

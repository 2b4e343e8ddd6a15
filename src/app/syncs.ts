/** Assembles syncs: adapters and guard, the refresh of connections, the envelopes of events. */
import { defaultTimezone } from '#auth/caller.ts'
import { bySystem } from '#contract/actor.ts'
import { makeSyncs, type Syncs } from '#syncs/syncs.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import type { AssemblyOptions } from './foundation.ts'

/** Makes them; nothing runs before a sync is requested or the background work starts. */
export function makeAppSyncs(options: AssemblyOptions): Syncs {
  const { config, store, adapters, guard, clock, connections, reports, failures } = options
  return makeSyncs({
    store,
    adapters,
    guard,
    clock,
    random: Math.random,
    intervalMinutes: config.syncIntervalMinutes,
    defaultTimezone,
    refresh: async (connectionId, { signal, priority }) => {
      await connections.refreshConnection(bySystem, connectionId, { priority, stop: signal })
    },
    makeEvents,
    pendingSecret: options.sealer.derive('pending'),
    report: {
      around: reports.syncs.around,
      ended(run) {
        if (run.result !== 'lost') failures.syncs.note(run.connectionId, run.error)
        reports.syncs.ended(run)
      },
    },
    jobs: reports.jobs,
  })
}

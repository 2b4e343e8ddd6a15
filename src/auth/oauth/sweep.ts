/** Deletes expired rows in small transactions, and unused clients where there are too many. */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { OAuthStore } from '#store/ports/oauth.ts'

const batchRows = 500
/** With a minute between sweeps this is enough for a hundred new rows a second. */
const maxBatches = 15
/** Limit of self-registered, never used clients in all: at most about 16 kB each. */
export const maxUnusedInAll = 10_000

/** Runs every minute. */
export function makeOAuthSweep(store: OAuthStore, clock: Clock): PeriodicTask {
  return {
    name: 'oauth-sweep',
    everyMs: minuteMs,
    firstRun: 'after_wait',
    async run(stop) {
      await store.trimUnusedClients(maxUnusedInAll)
      await runInBatches(() => store.sweep(clock.now(), batchRows), { maxBatches, stop })
    },
  }
}

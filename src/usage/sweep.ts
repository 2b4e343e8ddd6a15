/** Deletes counts of requests that are older than ninety days, in small statements. */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { Clock } from '#kernel/time.ts'
import type { UsageStore } from '#store/ports/usage.ts'

/** Pages and the admin API show no day before. */
export const usageDaysKept = 90

const batchRows = 500
const maxBatches = 400
const msPerDay = 86_400_000

/** Runs every hour. */
export function makeUsageSweep(usage: Pick<UsageStore, 'sweep'>, clock: Clock): PeriodicTask {
  return {
    name: 'usage-sweep',
    everyMs: 3_600_000,
    firstRun: 'after_wait',
    async run(stop) {
      // The day of a user may be one behind that of UTC.
      const oldest = Math.floor(clock.now() / msPerDay) - usageDaysKept - 1
      await runInBatches(() => usage.sweep(oldest, batchRows), { maxBatches, stop })
    },
  }
}

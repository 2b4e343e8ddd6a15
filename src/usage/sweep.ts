/** Deletes old counts in small statements: of requests after ninety days, of calls to providers after two. */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, dayMs, hourMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'

/** Pages and the admin API show no day before. */
export const usageDaysKept = 90

const batchRows = 500
const maxBatches = 400
/** The longest window of a budget is one day. */
const callDaysKept = 2

/** Runs every hour. */
export function makeUsageSweep(
  { usage, providerCalls }: Pick<Store, 'usage' | 'providerCalls'>,
  clock: Clock,
): PeriodicTask {
  return {
    name: 'usage-sweep',
    everyMs: hourMs,
    firstRun: 'after_wait',
    async run(stop) {
      // The day of a user may be one behind that of UTC.
      const oldest = Math.floor(clock.now() / dayMs) - usageDaysKept - 1
      await runInBatches(() => usage.sweep(oldest, batchRows), { maxBatches, stop })
      const before = clock.now() - callDaysKept * dayMs
      await runInBatches(() => providerCalls.sweep(before, batchRows), { maxBatches, stop })
    },
  }
}

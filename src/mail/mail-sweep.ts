/** Deletes the rows of mails that are done, and of links that expired, some time later, in small batches. */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, dayMs, hourMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import { longestMailWaitMs } from './worker.ts'

/** Longer than a duplicate of the same mail could be queued. */
const mailsKeptMs = 90 * dayMs
/** Until then the page of a link says why it no longer works. */
const tokensKeptMs = 30 * dayMs
const batch = 500
const maxBatches = 100

export function makeMailSweep(options: {
  readonly store: Pick<Store, 'mails' | 'singleUse'>
  readonly clock: Clock
}): PeriodicTask {
  const { store, clock } = options
  async function sweep(): Promise<number> {
    const now = clock.now()
    const bounds = { before: now - mailsKeptMs, now, latestDue: now + longestMailWaitMs }
    const mails = await store.mails.sweep({ ...bounds, limit: batch })
    return mails + (await store.singleUse.sweep({ before: now - tokensKeptMs, limit: batch }))
  }
  return {
    name: 'mail-sweep',
    everyMs: hourMs,
    firstRun: 'at_once',
    run: (stop) => runInBatches(sweep, { maxBatches, stop }),
  }
}

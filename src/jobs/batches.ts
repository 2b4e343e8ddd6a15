/** Runs work in batches until nothing is left, with a bound on the batches so that every run ends. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * `work` returns how many items it processed. Whatever is left after `maxBatches` waits for the next run. The
 * event loop turns between two batches: statements of the embedded store are synchronous, and requests would
 * otherwise wait for all batches.
 */
export async function runInBatches(
  work: () => Promise<number>,
  { maxBatches, stop }: { readonly maxBatches: number; readonly stop: AbortSignal },
): Promise<void> {
  for (let batch = 0; batch < maxBatches && !stop.aborted; batch += 1) {
    if ((await work()) === 0) return
    await nextTurn()
  }
}

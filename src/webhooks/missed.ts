/** Completes the rows of deliveries that a disabled endpoint missed, where these were very many. */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import type { DeliveryStore } from '#store/ports/deliveries.ts'

const batchRows = 500
const maxBatches = 100

export function makeMissedSweep(deliveries: Pick<DeliveryStore, 'missLeft'>): PeriodicTask {
  return {
    name: 'missed-deliveries',
    everyMs: 5000,
    firstRun: 'at_once',
    run: (stop) =>
      runInBatches(() => deliveries.missLeft({ limit: batchRows }), { maxBatches, stop }),
  }
}

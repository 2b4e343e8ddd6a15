/**
 * The deliveries of one process: claims endpoints with due deliveries up to its capacity, and again whenever
 * the store announces new work. Ailing endpoints have a separate capacity, so that slow or failing ones do
 * not delay healthy ones.
 */
import { type JobReport, startPeriodic } from '#jobs/periodic.ts'
import { makeDeliver } from './deliver.ts'
import { endpointLeaseMs } from './lease.ts'
import type { DeliverOptions } from './options.ts'
import { maxInFlight } from './send-round.ts'

/** Endpoints that one process sends to at once. */
const capacity = { healthy: 48, unhealthy: 16 } as const
/** Deliveries that one process sends at once. */
export const maxDeliveriesInFlight = (capacity.healthy + capacity.unhealthy) * maxInFlight

/** The longest wait for a delivery that is due again; the store announces new ones. */
const everyMs = 1000
/**
 * The wait after a failed claim: an outage of the store may be long, and each failure is a line of the log.
 */
const restMs = 5000

export interface DeliveryWorker {
  /** New deliveries may be due. */
  wake(): void
  /** Claims nothing more; resolves when what is in flight has been answered and kept (at most some 20 s). */
  stop(): Promise<void>
}

export function startDeliveryWorker(options: DeliverOptions, jobs: JobReport): DeliveryWorker {
  const deliver = makeDeliver(options)
  const stopping = new AbortController()
  const active = { healthy: new Set<Promise<void>>(), unhealthy: new Set<Promise<void>>() }

  async function claim(health: keyof typeof capacity): Promise<void> {
    const own = active[health]
    const limit = capacity[health] - own.size
    if (limit <= 0 || stopping.signal.aborted) return
    const claimedAt = performance.now()
    const claim = {
      now: options.clock.now(),
      leaseMs: endpointLeaseMs,
      limit,
      unhealthy: health === 'unhealthy',
    }
    for (const claimed of await options.store.deliveries.claimEndpoints(claim)) {
      const work = deliver(claimed, claimedAt, stopping.signal).finally(() => {
        own.delete(work)
        // Another endpoint can be claimed, and this one may have more deliveries.
        job.wake()
      })
      own.add(work)
    }
  }

  async function run(): Promise<void> {
    await claim('healthy')
    await claim('unhealthy')
  }

  const job = startPeriodic(
    { name: 'webhook-deliveries', everyMs, restMs, firstRun: 'after_wait', run },
    jobs,
  )
  return {
    wake: () => job.wake(),
    async stop() {
      stopping.abort(new Error('this process is stopping'))
      await job.stop()
      await Promise.all([...active.healthy, ...active.unhealthy])
    },
  }
}

/**
 * Repairs due times and leases of a clock that has been set back since: no delivery, and no endpoint, waits
 * until the clock is there again.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import { maxRetryAfterSeconds } from '#kernel/retry-after.ts'
import { type Clock, clockDriftMs } from '#kernel/time.ts'
import type { DeliveryStore } from '#store/ports/deliveries.ts'
import { endpointLeaseMs } from './lease.ts'
import { jitter } from './retry-policy.ts'

export interface WaitCheckOptions {
  readonly deliveries: Pick<DeliveryStore, 'shortenWaits'>
  readonly clock: Clock
  /** `WEBHOOK_RETRY_SCHEDULE`. */
  readonly schedule: readonly number[]
}

export function makeDeliveryWaitCheck(options: WaitCheckOptions): PeriodicTask {
  const { deliveries, clock, schedule } = options
  const longestSeconds = Math.max(maxRetryAfterSeconds, Math.max(...schedule) * (1 + jitter))
  return {
    name: 'delivery-waits',
    everyMs: 600_000,
    firstRun: 'at_once',
    async run() {
      const longestMs = longestSeconds * 1000 + clockDriftMs
      await deliveries.shortenWaits({ now: clock.now(), leaseMs: endpointLeaseMs, longestMs })
    },
  }
}

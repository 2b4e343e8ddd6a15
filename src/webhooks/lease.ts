/**
 * The lease of a claimed endpoint while this process sends to it. It is renewed on a timer and judged by this process's
 * own monotonic clock, so that a wall clock that jumps cannot make two processes believe that they hold it.
 */
import type { Clock } from '#kernel/time.ts'
import type { ClaimedEndpoint, DeliveryStore } from '#store/ports/deliveries.ts'

export const leaseMs = 60_000
const renewEveryMs = 15_000

export interface HeldLease {
  /** True while the lease outlives an exchange that begins now and takes `ms`. */
  lasts(ms: number): boolean
  /** Aborted when the lease is lost. */
  readonly lost: AbortSignal
  /** Ends the renewing. */
  drop(): void
}

export interface LeaseOptions {
  readonly deliveries: Pick<DeliveryStore, 'renew'>
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
  /** What `performance.now()` said before the endpoint was claimed. */
  readonly claimedAt: number
}

export function holdLease({ lease }: ClaimedEndpoint, options: LeaseOptions): HeldLease {
  const losing = new AbortController()
  let validUntil = options.claimedAt + leaseMs

  async function renew(): Promise<void> {
    const asked = performance.now()
    try {
      if (await options.deliveries.renew(lease, options.clock.now() + leaseMs)) {
        validUntil = asked + leaseMs
      } else losing.abort(new Error('the lease of the endpoint is lost'))
    } catch (error) {
      // The store may be back before the lease ends: the next turn of the timer tries again.
      options.onFailure(error)
    }
  }
  const timer = setInterval(() => void renew(), renewEveryMs)
  timer.unref()
  return {
    lasts: (ms) => !losing.signal.aborted && performance.now() + ms < validUntil,
    lost: losing.signal,
    drop: () => clearInterval(timer),
  }
}

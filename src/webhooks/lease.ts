/**
 * The lease of a claimed endpoint while this process sends to it. It is renewed on a timer; its expiry is measured with
 * this process's monotonic clock, so that two processes never send at once because a wall clock was changed.
 */
import type { Clock } from '#kernel/time.ts'
import type { ClaimedEndpoint, DeliveryStore } from '#store/ports/deliveries.ts'

export const leaseMs = 60_000
const renewEveryMs = 15_000

export interface HeldLease {
  /** True when the lease lasts longer than an exchange that begins now and takes `ms`. */
  lasts(ms: number): boolean
  /** Aborted when the lease is lost. */
  readonly lost: AbortSignal
  /** Renews it at once: the endpoint may have been removed. */
  check(): void
  /** Ends the renewing. */
  drop(): void
}

export interface LeaseOptions {
  readonly deliveries: Pick<DeliveryStore, 'renew'>
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
  /** The value of `performance.now()` before the endpoint was claimed. */
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
      // The store may be available again before the lease ends: the timer tries again.
      options.onFailure(error)
    }
  }
  const timer = setInterval(() => void renew(), renewEveryMs)
  timer.unref()
  return {
    lasts: (ms) => !losing.signal.aborted && performance.now() + ms < validUntil,
    lost: losing.signal,
    check: () => void renew(),
    drop: () => clearInterval(timer),
  }
}

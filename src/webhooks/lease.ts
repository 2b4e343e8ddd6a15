/**
 * The lease of a claimed endpoint while this process sends to it, renewed on a timer. It ends by the first of two clocks: the
 * monotonic one, which nobody sets, and the wall clock, by which others claim. The second is ahead of the first after a
 * correction, and after the machine was suspended.
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

export function holdLease(claimed: ClaimedEndpoint, options: LeaseOptions): HeldLease {
  const { lease } = claimed
  const { clock } = options
  const losing = new AbortController()
  let validUntil = options.claimedAt + leaseMs
  let { leaseUntil } = claimed

  async function renew(): Promise<void> {
    const asked = performance.now()
    const until = clock.now() + leaseMs
    try {
      if (await options.deliveries.renew(lease, until)) {
        validUntil = asked + leaseMs
        leaseUntil = until
      } else losing.abort(new Error('the lease of the endpoint is lost'))
    } catch (error) {
      // The store may be available again before the lease ends: the timer tries again.
      options.onFailure(error)
    }
  }
  const timer = setInterval(() => void renew(), renewEveryMs)
  timer.unref()
  return {
    lasts: (ms) =>
      !losing.signal.aborted &&
      performance.now() + ms < validUntil &&
      clock.now() + ms < leaseUntil,
    lost: losing.signal,
    check: () => void renew(),
    drop: () => clearInterval(timer),
  }
}

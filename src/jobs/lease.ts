/**
 * The lease of claimed work while this process does it, renewed on a timer. It ends by the first of two
 * clocks: the monotonic one, which nobody sets, and the wall clock, by which others claim. The second is
 * ahead of the first after a correction, and after the machine was suspended.
 */
import type { Clock, Millis } from '#kernel/time.ts'

/** Somebody else may do the work now, or it is gone: nothing may be written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

export interface HeldLease {
  /** True when the lease lasts longer than something that begins now and takes `ms`. */
  lasts(ms: number): boolean
  /** Aborted with a LeaseLostError when the lease is lost. */
  readonly lost: AbortSignal
  /** Renews it at once: the work may have been removed. */
  check(): void
  /** Ends the renewals; resolves when none is in progress. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly clock: Clock
  readonly leaseMs: number
  readonly everyMs: number
  /** Until when it was claimed. */
  readonly leaseUntil: Millis
  /** The value of `performance.now()` before it was claimed. Absent: it was claimed a moment ago. */
  readonly claimedAt?: number
  /** True: an ended lease is lost, even when nobody has claimed the work since. */
  readonly isLostAtEnd: boolean
  /** False: another process has it. */
  renew(until: Millis): Promise<boolean>
  onFailure(error: unknown): void
}

export function holdLease(options: LeaseOptions): HeldLease {
  const { clock, leaseMs, everyMs, isLostAtEnd, claimedAt = performance.now() } = options
  const losing = new AbortController()
  const lose = (why: string) => losing.abort(new LeaseLostError(why))
  let { leaseUntil } = options
  let validUntil = claimedAt + leaseMs
  let renewing: Promise<void> = Promise.resolve()

  const lasts = (ms: number) =>
    !losing.signal.aborted && performance.now() + ms < validUntil && clock.now() + ms < leaseUntil

  async function renew(): Promise<void> {
    if (isLostAtEnd && !lasts(0)) lose('the lease ended')
    if (losing.signal.aborted) return
    const asked = performance.now()
    const until = clock.now() + leaseMs
    try {
      if (!(await options.renew(until))) return lose('the lease is lost')
      validUntil = asked + leaseMs
      leaseUntil = until
    } catch (error) {
      // The store may be available again before the lease ends: the timer tries again.
      options.onFailure(error)
    }
  }
  const check = () => {
    renewing = Promise.all([renewing, renew()]).then(() => undefined)
  }
  const timer = setInterval(check, everyMs).unref()
  return {
    lasts,
    lost: losing.signal,
    check,
    async release() {
      clearInterval(timer)
      await renewing
    },
  }
}

/**
 * Places among those in flight, counted in this process. They need no expiry here: whoever holds one dies with the
 * counter. It holds one number per key in use, so it is bounded by the requests in flight.
 */
import type { Lease, LeaseStore } from '../kv-port.ts'

export type Acquired =
  | { readonly lease: Lease }
  | { readonly lease: null; readonly retryMs: number }

/** The port, answering at once. */
export interface MemoryLeases extends LeaseStore {
  acquire(key: string, limit: number): Acquired
}

/**
 * Any of those in flight may end at any moment, so the honest advice is the shortest that `Retry-After` can give; the
 * time to the next expiry would send well-behaved clients away for a minute.
 */
export const leasesTaken: Acquired = { lease: null, retryMs: 1000 }

/** The answer where a limit of 0 turns the limit off. */
export const freeLease: Acquired = { lease: { release() {} } }

/** Opens with nothing in flight. */
export function makeMemoryLeases(): MemoryLeases {
  const inFlight = new Map<string, number>()

  function release(key: string): void {
    const count = inFlight.get(key) ?? 0
    if (count > 1) inFlight.set(key, count - 1)
    else inFlight.delete(key)
  }

  return {
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const count = inFlight.get(key) ?? 0
      if (count >= limit) return leasesTaken
      inFlight.set(key, count + 1)
      let held = true
      return {
        lease: {
          release() {
            // A second release of the same lease must not free somebody else's place.
            if (held) release(key)
            held = false
          },
        },
      }
    },
  }
}

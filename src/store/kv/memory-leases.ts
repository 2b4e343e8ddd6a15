/**
 * Places among those in flight, counted in this process. They need no expiry here: whoever holds one dies with the
 * counter. It holds one number per key in use, and a few thousand idle ones at most.
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

/** One key's requests in flight. */
interface Places {
  taken: number
}

/** Keys without a request in flight are forgotten together, once there are so many keys. */
const sweepAt = 4096

/** Opens with nothing in flight. */
export function makeMemoryLeases(): MemoryLeases {
  const inFlight = new Map<string, Places>()
  let nextSweep = sweepAt

  // A key that came and went with each of its requests would make the map build itself anew every few requests.
  function open(key: string): Places {
    if (inFlight.size >= nextSweep) {
      for (const [name, { taken }] of inFlight) if (taken === 0) inFlight.delete(name)
      nextSweep = Math.max(sweepAt, inFlight.size * 2)
    }
    const places: Places = { taken: 0 }
    inFlight.set(key, places)
    return places
  }

  return {
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const places = inFlight.get(key) ?? open(key)
      if (places.taken >= limit) return leasesTaken
      places.taken += 1
      let held = true
      return {
        lease: {
          release() {
            // A second release of the same lease must not free somebody else's place.
            if (held) places.taken -= 1
            held = false
          },
        },
      }
    },
  }
}

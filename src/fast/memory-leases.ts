/**
 * Counts requests in flight in this process. The counts need no expiry: when the process ends, its requests
 * and the counts end together. It stores one number per key in use, and a few thousand idle ones at most.
 */
import type { Lease, LeaseStore } from './port.ts'

export type Acquired =
  | { readonly lease: Lease }
  | { readonly lease: null; readonly retryMs: number }

/** The port, with synchronous results. */
export interface MemoryLeases extends LeaseStore {
  acquire(key: string, limit: number): Acquired
  /** Whether `acquire` would refuse. */
  isFull(key: string, limit: number): boolean
}

/**
 * Any request in flight may end at any moment, so it advises the shortest wait that `Retry-After` can
 * express. The time to the next expiry would make well-behaved clients wait needlessly long.
 */
export const leasesTaken: Acquired = { lease: null, retryMs: 1000 }

/** The answer for a limit of 0, which means no limit. */
export const freeLease: Acquired = { lease: { release() {} } }

/** The requests in flight of one key. */
interface Places {
  taken: number
}

/** Idle keys are removed together once there are this many keys. */
const sweepAt = 4096

export function makeMemoryLeases(): MemoryLeases {
  const inFlight = new Map<string, Places>()
  let nextSweep = sweepAt

  // Idle keys stay for a while: removing them at once would make the map rehash every few requests.
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
    isFull: (key, limit) => limit > 0 && (inFlight.get(key)?.taken ?? 0) >= limit,
    acquire(key, limit) {
      if (limit === 0) return freeLease
      const places = inFlight.get(key) ?? open(key)
      if (places.taken >= limit) return leasesTaken
      places.taken += 1
      let held = true
      return {
        lease: {
          release() {
            // A second release of the same lease must not release another request's place.
            if (held) places.taken -= 1
            held = false
          },
        },
      }
    },
  }
}

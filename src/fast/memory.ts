/**
 * Fast state of one process, all in memory and synchronous, because every cached answer passes through it. It
 * is also the fallback of the Redis driver. Nothing here outlives the process or is shared with another.
 */
import type { Clock } from '#kernel/time.ts'
import { admitLocally, type LocalSteps } from './memory-admit.ts'
import { type MemoryBreakers, makeMemoryBreakers } from './memory-breakers.ts'
import { type MemoryCache, makeMemoryCache } from './memory-cache.ts'
import { type MemoryLeases, makeMemoryLeases } from './memory-leases.ts'
import { type MemoryWindows, makeMemoryWindows } from './memory-windows.ts'
import type { AdmitRequest, Admitted, Kv } from './port.ts'

export interface MemoryKvOptions {
  readonly clock: Clock
  readonly cacheMaxBytes: number
  readonly cacheMaxEntryBytes: number
}

/** The port, with every method synchronous. */
export interface MemoryKv extends Kv {
  admit(admission: AdmitRequest): Admitted
  readonly cache: MemoryCache
  readonly windows: MemoryWindows
  readonly leases: MemoryLeases
  readonly breakers: MemoryBreakers
}

const sweepEveryMs = 30_000

/** Opens empty fast state for this process. `close` ends its sweep. */
export function openMemoryKv(options: MemoryKvOptions): MemoryKv {
  const cache = makeMemoryCache({
    clock: options.clock,
    maxBytes: options.cacheMaxBytes,
    maxEntryBytes: options.cacheMaxEntryBytes,
  })
  // The timer only triggers the sweep; the injected clock decides what has expired.
  const sweeper = setInterval(() => cache.sweep(), sweepEveryMs)
  sweeper.unref()

  const windows = makeMemoryWindows(options.clock)
  const leases = makeMemoryLeases()
  const steps: LocalSteps = {
    take: windows.take,
    isFull: leases.isFull,
    acquire: leases.acquire,
    get: cache.get,
  }

  return {
    admit: (admission) => admitLocally(steps, admission),
    cache,
    beginChange: null,
    // Walks stay in the process; nothing is shared.
    snapshots: null,
    anchors: null,
    windows,
    // A single process may use the whole budget.
    budgets: windows,
    leases,
    breakers: makeMemoryBreakers(options.clock),
    connections: () => [],
    ping: async () => {},
    close: async () => clearInterval(sweeper),
  }
}

/**
 * Fast state of one process, all of it in memory and all of it answering at once: it stands on the path of every cached
 * answer. It is also the insurance of the Redis driver. Nothing here outlives the process or is shared with another.
 */
import type { Clock } from '#kernel/time.ts'
import type { Kv } from '../kv-port.ts'
import { type MemoryBreakers, makeMemoryBreakers } from './memory-breakers.ts'
import { type MemoryCache, makeMemoryCache } from './memory-cache.ts'
import { type MemoryLeases, makeMemoryLeases } from './memory-leases.ts'
import { type MemoryWindows, makeMemoryWindows } from './memory-windows.ts'

export interface MemoryKvOptions {
  readonly clock: Clock
  readonly cacheMaxBytes: number
  readonly cacheMaxEntryBytes: number
}

/** The port, every method answering at once. */
export interface MemoryKv extends Kv {
  readonly cache: MemoryCache
  readonly windows: MemoryWindows
  readonly leases: MemoryLeases
  readonly breakers: MemoryBreakers
}

const sweepEveryMs = 30_000

/** Opens empty fast state of this process; `isShared()` is always false. Close it to end its sweep. */
export function openMemoryKv(options: MemoryKvOptions): MemoryKv {
  const cache = makeMemoryCache({
    clock: options.clock,
    maxBytes: options.cacheMaxBytes,
    maxEntryBytes: options.cacheMaxEntryBytes,
  })
  // The timer only says when to look; what has expired is told by the injected clock.
  const sweeper = setInterval(() => cache.sweep(), sweepEveryMs)
  sweeper.unref()

  return {
    cache,
    windows: makeMemoryWindows(options.clock),
    leases: makeMemoryLeases(),
    breakers: makeMemoryBreakers(options.clock),
    isShared: () => false,
    ping: async () => {},
    close: async () => clearInterval(sweeper),
  }
}

/**
 * The walks in memory: consecutive windows of the same query share what was read (reading R19), for as long as a
 * cached answer of the operation lives. Page bodies are bounded in bytes and never leave the process. The state of
 * rows outlives the bodies and is shared where processes share fast state.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { SharedWalks } from '#store/ports/kv.ts'
import { makePageMemory } from './page-memory.ts'
import type { Walk, WalkOptions } from './walk.ts'

/** What `make` needs to create a walk. */
export type WalkPlace = Omit<WalkOptions, 'provider'>

export interface WalkCache {
  /** The walk for this key, or a new one from `make`; the key contains user, epoch and the whole query. */
  open<Row>(key: string, ttlMs: number, make: (place: WalkPlace) => Walk<Row>): Walk<Row>
  /** Must be called after every window, because the walk has grown. */
  keep(key: string, walk: Walk<unknown>): void
  /** Drops all walks and stops the sweep. */
  close(): void
}

export interface WalkCacheOptions {
  /** Bound of the page bodies of all walks together. */
  readonly maxPageBytes: number
  /** Bound of the state of rows: about fifty bytes per row. */
  readonly maxIndexBytes: number
  readonly clock: Clock
  /** Null: no other process shares walks. */
  readonly shared: SharedWalks | null
}

/** The size counted for an empty walk. */
const emptyBytes = 1024
const maxWalks = 10_000
const sweepEveryMs = 30_000

/** Starts empty. Close it to stop its sweep, which ensures that money data is held no longer than a cached answer. */
export function openWalks(options: WalkCacheOptions): WalkCache {
  const { clock, shared } = options
  const memory = makePageMemory(options.maxPageBytes)
  /** The walk that is being stored again, which must not be closed as evicted. */
  let kept: Walk<unknown> | null = null
  const entries = new LRUCache<string, { readonly walk: Walk<unknown> }>({
    max: maxWalks,
    maxSize: options.maxIndexBytes,
    sizeCalculation: ({ walk }) => emptyBytes + walk.size(),
    dispose: ({ walk }) => {
      if (walk !== kept) walk.close()
    },
  })

  function sweep(): void {
    const now = clock.now()
    // Collected first, because deleting while iterating could skip entries.
    const dead = [...entries.entries()].filter(([, { walk }]) => walk.expiresAt() <= now)
    for (const [key] of dead) entries.delete(key)
  }
  const sweeper = setInterval(sweep, sweepEveryMs)
  sweeper.unref()

  return {
    open<Row>(key: string, ttlMs: number, make: (place: WalkPlace) => Walk<Row>): Walk<Row> {
      const known = entries.get(key)?.walk
      const left = known === undefined ? 0 : known.expiresAt() - clock.now()
      // More time left than a whole life means that the clock was set back since the walk began.
      const isAlive = known !== undefined && left > 0 && left <= ttlMs
      // The key contains the operation, and an operation has one type of row.
      if (isAlive) return known as Walk<Row>
      const sharedPlace = shared === null ? null : { walks: shared, key, now: () => clock.now() }
      const walk = make({ memory, shared: sharedPlace, expiresAt: clock.now() + ttlMs })
      entries.set(key, { walk })
      return walk
    },
    keep(key, walk) {
      if (entries.peek(key)?.walk !== walk) return
      // Stored again as a new object, because the cache measures an entry only when it is stored.
      kept = walk
      entries.set(key, { walk })
      kept = null
      // The walk outgrew the bound of all walks, so the cache did not store it.
      if (entries.peek(key)?.walk !== walk) walk.close()
    },
    close() {
      clearInterval(sweeper)
      entries.clear()
    },
  }
}

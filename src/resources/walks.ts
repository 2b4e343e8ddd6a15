/**
 * Walks that are under way: consecutive windows of the same query share the provider pages already read (reading R19),
 * for as long as a cached answer of the operation lives and within a bound of bytes. In memory only: bodies are money
 * data and never leave the process.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { Walk } from './walk.ts'

/** A walk and when its oldest page is over, in milliseconds since the epoch. */
export interface HeldWalk<Row> {
  readonly walk: Walk<Row>
  readonly expiresAt: number
}

type Entry = HeldWalk<unknown>

export interface Walks {
  /** The walk under this key, or a new one from `make`; the key names user, epoch and the whole query. */
  open<Row>(key: string, ttlMs: number, make: () => Walk<Row>): HeldWalk<Row>
  /** To be called after every window: the walk has grown. */
  keep(key: string, walk: Walk<unknown>): void
  /** Forgets it, if it is still the one under this key. */
  drop(key: string, walk: Walk<unknown>): void
  /** Forgets all of them and ends the sweep. */
  close(): void
}

/** A walk that holds nothing yet counts as much as its bookkeeping. */
const emptyBytes = 1024
const maxWalks = 10_000
const sweepEveryMs = 30_000

/** Starts with none. Close it to end its sweep: money data is held no longer than a cached answer, asked for or not. */
export function openWalks(options: { readonly maxBytes: number; readonly clock: Clock }): Walks {
  /** The one that is stored anew at the moment: it goes on. */
  let kept: Walk<unknown> | null = null
  const entries = new LRUCache<string, Entry>({
    max: maxWalks,
    maxSize: options.maxBytes,
    sizeCalculation: (entry) => emptyBytes + entry.walk.size(),
    dispose: ({ walk }) => {
      if (walk !== kept) walk.close()
    },
  })

  function sweep(): void {
    const now = options.clock.now()
    // Collected first: deleting under the iterator could lead it astray.
    const dead = [...entries.entries()].filter(([, entry]) => entry.expiresAt <= now)
    for (const [key] of dead) entries.delete(key)
  }
  const sweeper = setInterval(sweep, sweepEveryMs)
  sweeper.unref()

  return {
    open<Row>(key: string, ttlMs: number, make: () => Walk<Row>): HeldWalk<Row> {
      const known = entries.get(key)
      const now = options.clock.now()
      // Longer than its whole life: the clock was set back since it began.
      const isAlive = known !== undefined && known.expiresAt > now && known.expiresAt - now <= ttlMs
      // The key names the operation, and one operation has one kind of row.
      if (isAlive) return known as HeldWalk<Row>
      const fresh = { walk: make(), expiresAt: now + ttlMs }
      entries.set(key, fresh)
      return fresh
    },
    keep(key, walk) {
      const entry = entries.peek(key)
      if (entry?.walk !== walk) return
      // Set anew as a fresh object: the cache weighs an entry only when it is stored.
      kept = walk
      entries.set(key, { ...entry })
      kept = null
      // Grown beyond the bound of all of them, it was not stored again.
      if (entries.peek(key)?.walk !== walk) walk.close()
    },
    drop(key, walk) {
      if (entries.peek(key)?.walk === walk) entries.delete(key)
    },
    close() {
      clearInterval(sweeper)
      entries.clear()
    },
  }
}

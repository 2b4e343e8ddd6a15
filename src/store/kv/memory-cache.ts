/**
 * Finished answers in this process's memory: bounded by bytes, each entry gone when its life by the injected clock is
 * over. It decides nothing about what may be stored; the key carries user and epoch, so nothing is ever deleted by name.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { CachedAnswer, CacheLookup, CacheStore } from '../kv-port.ts'

export interface MemoryCacheOptions {
  readonly clock: Clock
  /** All entries together, keys and book-keeping included (`CACHE_MAX_BYTES`). */
  readonly maxBytes: number
  /** One body (`CACHE_MAX_ENTRY_BYTES`). */
  readonly maxEntryBytes: number
}

/** The port, answering at once. */
export interface MemoryCache extends CacheStore {
  get(key: string): CacheLookup
  set(key: string, answer: CachedAnswer, ttlMs: number): boolean
  /** Drops what has outlived its life; memory must not hold money data longer than the contract's cache does. */
  sweep(): void
}

/** An entry is its own look-up result, so that a hit allocates nothing. */
interface Entry {
  readonly kind: 'hit'
  readonly answer: CachedAnswer
  readonly storedAt: number
  readonly expiresAt: number
}

const miss: CacheLookup = { kind: 'miss' }

// Measured with Node 26: map slot, list slots, entry, answer and array header come to some 400 bytes.
const entryOverheadBytes = 400
const bytesPerKeyCharacter = 2

// A second bound, so that a sweep over very many tiny answers stays a matter of milliseconds.
const maxEntries = 65_536

/** Opens an empty cache. A bound of 0 bytes makes it refuse every entry. */
export function makeMemoryCache(options: MemoryCacheOptions): MemoryCache {
  const { clock, maxBytes, maxEntryBytes } = options
  const entries = new LRUCache<string, Entry>({
    max: maxEntries,
    maxSize: Math.max(1, maxBytes),
  })

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return miss
      if (isAlive(entry, clock.now())) return entry
      entries.delete(key)
      return miss
    },

    set(key, answer, ttlMs) {
      const size = answer.body.byteLength + key.length * bytesPerKeyCharacter + entryOverheadBytes
      if (answer.body.byteLength > maxEntryBytes || size > maxBytes || ttlMs <= 0) return false
      const kept = { body: detach(answer.body), truncated: answer.truncated }
      const storedAt = clock.now()
      const expiresAt = storedAt + ttlMs
      entries.set(key, { kind: 'hit', answer: kept, storedAt, expiresAt }, { size })
      return true
    },

    sweep() {
      const now = clock.now()
      // Collected first: deleting under the iterator could lead it astray.
      const dead = [...entries.entries()].filter(([, entry]) => !isAlive(entry, now))
      for (const [key] of dead) entries.delete(key)
    },
  }
}

/** An answer from the future was stored before the clock was set back: it would live too long. */
function isAlive(entry: Entry, now: number): boolean {
  return entry.storedAt <= now && now < entry.expiresAt
}

/**
 * A body that is a view on a larger buffer would keep all of it alive, uncounted. A Buffer, since Node would make one of
 * any other bytes at every answer.
 */
function detach(body: Uint8Array): Uint8Array {
  const { buffer } = body.byteLength === body.buffer.byteLength ? body : new Uint8Array(body)
  return Buffer.from(buffer)
}

/**
 * Finished answers in this process's memory, bounded by bytes in total and per owner; each entry expires by
 * the injected clock. It does not decide what may be cached. Keys contain user and epoch, so entries never
 * need to be invalidated by key.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { CachedAnswer, CacheStore, OwnedPart } from './port.ts'

export interface MemoryCacheOptions {
  readonly clock: Clock
  /** Bound of all entries together, including keys and overhead (`CACHE_MAX_BYTES`). */
  readonly maxBytes: number
  /** Bound of one body (`CACHE_MAX_ENTRY_BYTES`). */
  readonly maxEntryBytes: number
}

/** The port, with synchronous results. */
export interface MemoryCache<Answer extends CachedAnswer = CachedAnswer> extends CacheStore {
  get(key: string): MemoryLookup<Answer>
  set(key: string, answer: Answer, ttlMs: number, owner?: string | OwnedPart): boolean
  /**
   * Removes expired entries; memory must not hold money data longer than the contract allows the cache to.
   */
  sweep(): void
  /** Removes the entries of one owner; null: all. */
  remove(owner: string | null): void
}

export type MemoryLookup<Answer extends CachedAnswer> =
  | { readonly kind: 'hit'; readonly answer: Answer }
  | { readonly kind: 'miss' }

/** The stored entry is also the result of the look-up, so that a hit allocates nothing. */
interface Entry<Answer extends CachedAnswer> {
  readonly kind: 'hit'
  readonly answer: Answer
  readonly storedAt: number
  readonly expiresAt: number
  readonly owner: Owner | null
  /** Null: it belongs to no part of the owner's. */
  readonly part: string | null
  readonly size: number
}

/** The entries of one user, by key in the order in which they were stored. */
interface Owner {
  readonly name: string
  readonly keys: Set<string>
  bytes: number
}

const miss = { kind: 'miss' } as const

// Measured with Node 26: map slot, list slots, entry, answer and array header take about 400 bytes.
const entryOverheadBytes = 400
const bytesPerKeyCharacter = 2

// Bounds the number of entries, so that a sweep over very small answers takes only milliseconds.
const maxEntries = 65_536

/** The share of all bytes that one user may have, so that one user cannot evict the others' entries. */
export const ownerShare = 1 / 8

/** Its space grows with its entries: that for all of them takes 6 ms to make. */
function openEntries<Answer extends CachedAnswer>(
  maxBytes: number,
  owners: Map<string, Owner>,
): LRUCache<string, Entry<Answer>> {
  return new LRUCache({
    maxSize: Math.max(1, maxBytes),
    dispose({ owner, size }, key) {
      if (owner === null) return
      owner.bytes -= size
      owner.keys.delete(key)
      if (owner.keys.size === 0) owners.delete(owner.name)
    },
  })
}

/** Opens an empty cache. With a bound of 0 bytes it stores nothing. */
export function makeMemoryCache<Answer extends CachedAnswer = CachedAnswer>(
  options: MemoryCacheOptions,
): MemoryCache<Answer> {
  const { clock, maxBytes, maxEntryBytes } = options
  const owners = new Map<string, Owner>()
  const entries = openEntries<Answer>(maxBytes, owners)

  /** Counts a stored entry; a user over the share loses their own oldest answers. */
  function count(owner: Owner, key: string, size: number): void {
    owners.set(owner.name, owner)
    owner.bytes += size
    owner.keys.add(key)
    for (const oldest of owner.keys) {
      if (owner.bytes <= maxBytes * ownerShare || oldest === key) break
      entries.delete(oldest)
    }
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return miss
      if (isAlive(entry, clock.now())) return entry
      entries.delete(key)
      return miss
    },

    set(key, answer, ttlMs, owned) {
      const { owner: ownerName, part } = readOwner(owned)
      const size = answer.body.byteLength + key.length * bytesPerKeyCharacter + entryOverheadBytes
      const isTooLarge =
        part === null ? answer.body.byteLength > maxEntryBytes : size > maxBytes * ownerShare
      if (isTooLarge || size > maxBytes || ttlMs <= 0) return false
      const kept = { ...answer, body: detach(answer.body) }
      const storedAt = clock.now()
      const expiresAt = storedAt + ttlMs
      const owner =
        ownerName === null
          ? null
          : (owners.get(ownerName) ?? { name: ownerName, keys: new Set<string>(), bytes: 0 })
      const entry = { kind: 'hit', answer: kept, storedAt, expiresAt, owner, part, size } as const
      if (entries.size >= maxEntries && !entries.has(key)) entries.pop()
      entries.set(key, entry, { size })
      if (owner !== null) count(owner, key, size)
      return true
    },

    sweep() {
      const now = clock.now()
      // Collected first, because deleting while iterating could skip entries.
      const dead = [...entries.entries()].filter(([, entry]) => !isAlive(entry, now))
      for (const [key] of dead) entries.delete(key)
    },

    remove(owner) {
      if (owner === null) return entries.clear()
      // Copied, because each deletion removes a key from the set.
      for (const key of [...(owners.get(owner)?.keys ?? [])]) entries.delete(key)
    },

    forget(owner, part) {
      for (const key of [...(owners.get(owner)?.keys ?? [])]) {
        if (part === null || entries.peek(key)?.part === part) entries.delete(key)
      }
    },

    drop() {},
  }
}

export function readOwner(owned: string | OwnedPart | undefined) {
  if (owned === undefined) return { owner: null, part: null }
  return typeof owned === 'string' ? { owner: owned, part: null } : owned
}

/** An entry stored later than now was stored before the clock was set back, and would live too long. */
function isAlive(entry: Entry<CachedAnswer>, now: number): boolean {
  return entry.storedAt <= now && now < entry.expiresAt
}

/**
 * A view on a larger buffer would keep all of that buffer in memory without counting it. The result is a
 * Buffer, because Node would otherwise convert the bytes for every answer.
 */
function detach(body: Uint8Array): Uint8Array {
  const { buffer } = body.byteLength === body.buffer.byteLength ? body : new Uint8Array(body)
  return Buffer.from(buffer)
}

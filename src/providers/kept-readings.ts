/**
 * Where readings of a provider are kept (reading R36): compressed in this process, within a bound, and with
 * Redis sealed there too, so that all processes share them. While Redis is unavailable a process has its own.
 * One owner has an eighth of the room at most: beyond it they lose their own readings, never those of others.
 */
import { LRUCache } from 'lru-cache'
import type { CacheStore, OwnedPart } from '#fast/port.ts'
import { pack, unpack } from '#kernel/packed.ts'
import type { Clock, Millis } from '#kernel/time.ts'

export interface KeptReading {
  readonly body: Uint8Array
  /** When the reading began. */
  readonly readAt: Millis
}

export interface KeptOptions {
  readonly clock: Clock
  /** Null: no other process shares them. */
  readonly shared: Pick<CacheStore, 'get' | 'set' | 'forget'> | null
}

/** Where a reading is kept, and whose it is. */
export interface KeptName extends OwnedPart {
  readonly key: string
}

/** The bound in this process, compressed. */
const maxBytes = 16 * 1024 * 1024
/** What one owner may have of it; a larger reading serves those who wait for it, and is not kept. */
export const readingShareBytes = maxBytes / 8

interface Entry extends KeptReading, OwnedPart {}

export function openKeptReadings({ clock, shared }: KeptOptions) {
  const own = openOwn(clock)

  async function findShared(key: string): Promise<KeptReading | null> {
    const found = await shared?.get(key)
    if (found?.kind !== 'hit' || found.answer.asOf === undefined) return null
    return { body: found.answer.body, readAt: found.answer.asOf }
  }

  return {
    /** The newest one, where it began at this time or later. */
    async find(key: string, oldest: Millis): Promise<KeptReading | null> {
      const there = await findShared(key)
      const here = own.find(key)
      const newest = here === null || (there?.readAt ?? 0) > here.readAt ? there : here
      // One that begins later than now is from before the clock was set back.
      if (newest === null || newest.readAt < oldest || newest.readAt > clock.now()) return null
      return { body: await unpack(newest.body), readAt: newest.readAt }
    },

    async keep(name: KeptName, { body, readAt }: KeptReading, maxAgeMs: number): Promise<void> {
      const packed = await pack(body)
      const ttl = readAt + maxAgeMs - clock.now()
      if (ttl <= 0 || packed.byteLength > readingShareBytes) return
      const { key, owner, part } = name
      own.keep(key, { body: packed, readAt, owner, part }, ttl)
      await shared?.set(key, { body: packed, truncated: false, asOf: readAt }, ttl, { owner, part })
    },

    /** Deletes what is kept of an owner, in this process and in Redis; `part` null: all of it. */
    async forget(owner: string, part: string | null): Promise<void> {
      own.forget(owner, part)
      await shared?.forget(owner, part)
    },

    clear: own.clear,
  }
}

/** Those of this process. */
function openOwn(clock: Clock) {
  const owners = new Map<string, { readonly keys: Set<string>; bytes: number }>()
  const sizeOf = ({ body }: Entry) => Math.max(1, body.byteLength)
  const kept = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: sizeOf,
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: clock,
    dispose(entry, key) {
      const owner = owners.get(entry.owner)
      if (owner === undefined) return
      owner.bytes -= sizeOf(entry)
      owner.keys.delete(key)
      if (owner.keys.size === 0) owners.delete(entry.owner)
    },
  })

  function forget(name: string, part: string | null): void {
    // Copied, because each deletion removes a key from the set.
    for (const key of [...(owners.get(name)?.keys ?? [])]) {
      if (part === null || kept.peek(key)?.part === part) kept.delete(key)
    }
  }

  return {
    find: (key: string): Entry | null => kept.get(key) ?? null,
    forget,
    clear: () => kept.clear(),
    keep(key: string, entry: Entry, ttl: number): void {
      kept.delete(key)
      kept.set(key, entry, { ttl })
      const owner = owners.get(entry.owner) ?? { keys: new Set<string>(), bytes: 0 }
      owners.set(entry.owner, owner)
      owner.bytes += sizeOf(entry)
      owner.keys.add(key)
      // The owner's oldest go first; the one that was kept just now is none of them.
      for (const oldest of [...owner.keys]) {
        if (owner.bytes <= readingShareBytes || oldest === key) break
        kept.delete(oldest)
      }
    },
  }
}

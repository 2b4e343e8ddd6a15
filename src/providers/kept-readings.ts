/**
 * Where readings of a provider are kept (reading R36): compressed in this process, within a bound, and with
 * Redis sealed there too, so that all processes share them. While Redis is unavailable a process has its own.
 */
import { LRUCache } from 'lru-cache'
import type { CacheStore } from '#fast/port.ts'
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
  readonly shared: Pick<CacheStore, 'get' | 'set'> | null
}

/** The bound in this process, compressed. */
const maxBytes = 16 * 1024 * 1024

export function openKeptReadings({ clock, shared }: KeptOptions) {
  const own = new LRUCache<string, KeptReading>({
    maxSize: maxBytes,
    // The last one is kept whatever its size.
    sizeCalculation: ({ body }) => Math.min(Math.max(1, body.byteLength), maxBytes),
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: clock,
  })

  async function findShared(key: string): Promise<KeptReading | null> {
    const found = await shared?.get(key)
    if (found?.kind !== 'hit' || found.answer.asOf === undefined) return null
    return { body: found.answer.body, readAt: found.answer.asOf }
  }

  return {
    /** The newest one, where it began at this time or later. */
    async find(key: string, oldest: Millis): Promise<KeptReading | null> {
      const there = await findShared(key)
      const here = own.get(key) ?? null
      const newest = here === null || (there?.readAt ?? 0) > here.readAt ? there : here
      // One that begins later than now is from before the clock was set back.
      if (newest === null || newest.readAt < oldest || newest.readAt > clock.now()) return null
      return { ...newest, body: await unpack(newest.body) }
    },

    async keep(key: string, { body, readAt }: KeptReading, maxAgeMs: number): Promise<void> {
      const packed = await pack(body)
      const ttl = readAt + maxAgeMs - clock.now()
      if (ttl <= 0) return
      own.set(key, { body: packed, readAt }, { ttl })
      await shared?.set(key, { body: packed, truncated: false, asOf: readAt }, ttl)
    },

    clear: () => own.clear(),
  }
}

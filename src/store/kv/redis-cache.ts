/**
 * Finished answers in Redis, encrypted, each with its life as the key's expiry. While Redis is away the cache says so
 * instead of answering from a memory of its own: processes must not disagree about what is fresh.
 */
import type { CacheLookup, CacheStore } from '../kv-port.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'
import type { KvMetrics } from './report.ts'

export interface RedisCacheOptions {
  readonly link: RedisLink
  readonly seal: Seal
  readonly metrics: KvMetrics
  /** One body; Redis bounds all of them together by its own `maxmemory`. */
  readonly maxEntryBytes: number
}

/** The shared cache. */
export function makeRedisCache({
  link,
  seal,
  metrics,
  maxEntryBytes,
}: RedisCacheOptions): CacheStore {
  return {
    get(key) {
      return link.run<CacheLookup>(
        'cache',
        async () => {
          const sealed = await link.client.getBuffer(seal.name('cache', key))
          if (sealed === null) return { kind: 'miss' }
          const answer = seal.open(key, sealed)
          if (answer !== null) return { kind: 'hit', answer }
          metrics.unreadable()
          return { kind: 'miss' }
        },
        () => ({ kind: 'away' }),
      )
    },

    set(key, answer, ttlMs) {
      const lifeMs = Math.floor(ttlMs)
      if (answer.body.byteLength > maxEntryBytes || lifeMs <= 0) return false
      return link.run(
        'cache',
        async () => {
          const sealed = seal.seal(key, answer)
          await link.client.set(seal.name('cache', key), sealed, 'PX', lifeMs)
          return true
        },
        () => false,
      )
    },
  }
}

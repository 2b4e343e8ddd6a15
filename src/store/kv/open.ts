/**
 * Opens fast state: in memory, or shared through Valkey/Redis with memory as its insurance. The only door of this room
 * for the rest of the house.
 */
import type { Kv } from '../kv-port.ts'
import { type MemoryKvOptions, openMemoryKv } from './memory.ts'
import { quickenStrings } from './quicken-strings.ts'
import { type KvLog, type KvMetrics, silentLog, silentMetrics } from './report.ts'

export type { KvLog, KvMetrics } from './report.ts'

export interface KvOptions extends MemoryKvOptions {
  /** `redis://` or `rediss://`; null keeps everything in this process. */
  readonly redisUrl: string | null
  /** 32 bytes from which names and values in Redis are kept; the same in every process of one service. */
  readonly cacheKey: Uint8Array
  readonly log?: KvLog
  readonly metrics?: KvMetrics
}

/**
 * Opens fast state; the caller closes it. With a Redis that cannot be reached it opens all the same, says so in the log,
 * and uses it as soon as it is there. Rejects for a URL of another scheme and a `cacheKey` that has not 32 bytes.
 */
export async function openKv(options: KvOptions): Promise<Kv> {
  if (options.redisUrl === null) {
    const message = 'limits, breakers and cached answers are kept in this process alone'
    options.log?.info({ redisUrl: null }, message)
    return openMemoryKv(options)
  }
  // Loaded only where it is used: it costs memory, time, and once what `quickenStrings` mends.
  const { openRedisKv } = await import('./redis.ts')
  quickenStrings()
  return openRedisKv({
    url: options.redisUrl,
    clock: options.clock,
    secret: options.cacheKey,
    maxEntryBytes: Math.min(options.cacheMaxEntryBytes, options.cacheMaxBytes),
    report: { log: options.log ?? silentLog, metrics: options.metrics ?? silentMetrics },
  })
}

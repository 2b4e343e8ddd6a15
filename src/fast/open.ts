/** Opens fast state: in memory, or shared through Valkey/Redis. Other rooms import this file only. */
import type { JobReport } from '#jobs/periodic.ts'
import type { StoreMark } from '#store/ports/meta.ts'
import { type MemoryKvOptions, openMemoryKv } from './memory.ts'
import type { Kv } from './port.ts'
import { type KvLog, type KvMetrics, silentJobs, silentLog, silentMetrics } from './report.ts'
import { restoreStringSpeed } from './restore-string-speed.ts'

export type { KvLog, KvMetrics } from './report.ts'

export interface KvOptions extends MemoryKvOptions {
  /** `redis://` or `rediss://`; null keeps everything in this process. */
  readonly redisUrl: string | null
  /** A separate server for cached answers; absent, null or equal: they are stored at `redisUrl` too. */
  readonly redisCacheUrl?: string | null
  /**
   * 32 bytes from which the names and values in Redis are derived; the same in every process of one service.
   */
  readonly cacheKey: Uint8Array
  /** Changes when the same rows would give a different answer: contract and version of this software. */
  readonly generation?: string
  /** The mark of the store that answers come from; absent: the store is never restored from a backup. */
  readonly mark?: StoreMark
  readonly log?: KvLog
  readonly metrics?: KvMetrics
  readonly jobs?: JobReport
}

/**
 * Opens fast state; the caller closes it. When Redis is unreachable it opens anyway, logs a warning and uses
 * Redis as soon as it is available. Rejects for a URL of another scheme and for a `cacheKey` that is not 32
 * bytes long.
 */
export async function openKv(options: KvOptions): Promise<Kv> {
  if (options.redisUrl === null) {
    const message = 'limits, breakers and cached answers are kept in this process alone'
    options.log?.info({ redisUrl: null }, message)
    return openMemoryKv(options)
  }
  // Imported only when used: it costs memory, and ioredis slows strings down (see `restoreStringSpeed`).
  const { openRedisKv } = await import('./redis.ts')
  restoreStringSpeed()
  return openRedisKv({
    url: options.redisUrl,
    cacheUrl: options.redisCacheUrl ?? options.redisUrl,
    clock: options.clock,
    secret: options.cacheKey,
    maxBytes: options.cacheMaxBytes,
    maxEntryBytes: Math.min(options.cacheMaxEntryBytes, options.cacheMaxBytes),
    ...(options.generation === undefined ? {} : { generation: options.generation }),
    ...(options.mark === undefined ? {} : { mark: options.mark }),
    report: {
      log: options.log ?? silentLog,
      metrics: options.metrics ?? silentMetrics,
      jobs: options.jobs ?? silentJobs,
    },
  })
}

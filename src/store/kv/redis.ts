/**
 * Fast state shared through Valkey/Redis, with memory as its insurance: when Redis is away, windows, leases and breakers
 * go on in this process and the cache says so; when it is back, it is used again. It holds the parts together and no rule.
 */
import type { Clock } from '#kernel/time.ts'
import type { Kv } from '../kv-port.ts'
import { type BreakerRule, breakerRule } from './breaker-rule.ts'
import { makeMemoryBreakers } from './memory-breakers.ts'
import { makeMemoryLeases } from './memory-leases.ts'
import { makeMemoryWindows } from './memory-windows.ts'
import { makeRedisBreakers } from './redis-breakers.ts'
import { makeRedisCache } from './redis-cache.ts'
import { type LeaseTiming, leaseTiming, makeRedisLeases } from './redis-leases.ts'
import { openRedisLink } from './redis-link.ts'
import { makeSeal } from './redis-seal.ts'
import { makeRedisWindows } from './redis-windows.ts'
import type { KvReport } from './report.ts'

export interface RedisKvOptions {
  readonly url: string
  /** Tells the time to the insurance; Redis goes by its own. */
  readonly clock: Clock
  /** 32 bytes, the same in every process of one service. */
  readonly secret: Uint8Array
  readonly maxEntryBytes: number
  readonly report: KvReport
  /** Begins every key; services that share a Redis need different ones. */
  readonly prefix?: string
  readonly breakerRule?: BreakerRule
  readonly leaseTiming?: LeaseTiming
}

/**
 * Opens shared fast state; also opens, with its insurance, when Redis cannot be reached (two seconds at most). Throws
 * for a URL that is none of Redis and a secret that has not 32 bytes.
 */
export async function openRedisKv(options: RedisKvOptions): Promise<Kv> {
  const { clock, report, prefix = 'tributary:' } = options
  const seal = makeSeal(options.secret, prefix)
  const link = await openRedisLink({ url: options.url, report, probeKey: `${prefix}probe` })
  const rule = options.breakerRule ?? breakerRule
  const leases = makeRedisLeases({
    link,
    seal,
    twin: makeMemoryLeases(),
    timing: options.leaseTiming ?? leaseTiming,
  })

  return {
    cache: makeRedisCache({
      link,
      seal,
      metrics: report.metrics,
      maxEntryBytes: options.maxEntryBytes,
    }),
    windows: makeRedisWindows(link, seal, makeMemoryWindows(clock)),
    leases,
    breakers: makeRedisBreakers({ link, seal, twin: makeMemoryBreakers(clock, rule), rule }),
    isShared: link.isUp,
    ping: link.probe,
    async close() {
      await leases.close()
      await link.close()
    },
  }
}

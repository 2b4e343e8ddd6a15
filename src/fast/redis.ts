/**
 * Fast state shared through Valkey/Redis with memory as the fallback: while Redis is unavailable, windows,
 * leases and breakers continue in this process and the cache answers `unavailable`. This file assembles the
 * parts and holds no rule.
 */
import type { Clock } from '#kernel/time.ts'
import type { StoreMark } from '#store/ports/meta.ts'
import { type BreakerRule, breakerRule } from './breaker-rule.ts'
import { makeMemoryBreakers } from './memory-breakers.ts'
import { makeMemoryLeases } from './memory-leases.ts'
import { makeMemoryWindows } from './memory-windows.ts'
import type { Kv } from './port.ts'
import { makeRedisAdmit } from './redis-admit.ts'
import { makeRedisBreakers } from './redis-breakers.ts'
import { makeRedisCache } from './redis-cache.ts'
import { makeRedisEditions } from './redis-editions.ts'
import { type IncarnationTiming, openIncarnation } from './redis-incarnation.ts'
import { type LeaseTiming, leaseTiming, makeRedisLeases } from './redis-leases.ts'
import { openRedisLink, type RedisLink, type RedisLinkOptions } from './redis-link.ts'
import { openProcesses } from './redis-processes.ts'
import { makeSeal } from './redis-seal.ts'
import { makeRedisSnapshots } from './redis-snapshots.ts'
import { makeRedisWindows } from './redis-windows.ts'
import type { KvReport } from './report.ts'

export interface RedisKvOptions {
  /** The server of limits, leases, breakers and anchors. */
  readonly url: string
  /** The server of cached answers and snapshots; absent or equal to `url`: one connection serves both. */
  readonly cacheUrl?: string
  /** The clock of the fallback; Redis uses its own. */
  readonly clock: Clock
  /** 32 bytes, the same in every process of one service. */
  readonly secret: Uint8Array
  readonly maxEntryBytes: number
  /** The size of the cache, of which one user may have an eighth; 128 MiB when absent. */
  readonly maxBytes?: number
  /** Changes when the same rows would give a different answer. */
  readonly generation?: string
  /** The mark of the store that answers come from; absent: the store is never restored from a backup. */
  readonly mark?: StoreMark
  readonly report: KvReport
  /** The prefix of every key; services that share a Redis need different ones. */
  readonly prefix?: string
  readonly breakerRule?: BreakerRule
  readonly leaseTiming?: LeaseTiming
  readonly incarnationTiming?: IncarnationTiming
}

const defaultMaxBytes = 128 * 1024 * 1024

/** The mark of a store that is never restored from a backup. */
const steadyMark: StoreMark = { read: async () => 0, advance: async () => {} }

/**
 * Opens shared fast state. When Redis cannot be reached within two seconds it opens on the fallback. Throws
 * for a URL that is not a Redis URL and for a secret that is not 32 bytes long.
 */
export async function openRedisKv(options: RedisKvOptions): Promise<Kv> {
  const { clock, report, prefix = 'tributary:' } = options
  const seal = makeSeal(options.secret, prefix)
  const links = await openLinks(options, { report, probeKey: `${prefix}probe` })
  const link = links.limits
  const rule = options.breakerRule ?? breakerRule
  const leases = makeRedisLeases({
    link,
    seal,
    local: makeMemoryLeases(),
    timing: options.leaseTiming ?? leaseTiming,
  })

  const incarnation = await openIncarnation({
    link: links.cache,
    seal,
    generation: options.generation ?? '',
    mark: options.mark ?? steadyMark,
    report,
    ...(options.incarnationTiming === undefined ? {} : { timing: options.incarnationTiming }),
  })
  const processes = await openProcesses({ link, seal, jobs: report.jobs })
  const counted = { link, seal, local: makeMemoryWindows(clock) }
  const windows = makeRedisWindows(counted)
  // Not in an incarnation: what is changed is the rows, whichever answers are served.
  const editions = makeRedisEditions(links.cache, seal)
  const cache = makeRedisCache({
    link: incarnation.link,
    seal: incarnation.seal,
    editions,
    clock,
    metrics: report.metrics,
    maxEntryBytes: options.maxEntryBytes,
    maxBytes: options.maxBytes ?? defaultMaxBytes,
  })

  return {
    admit: makeRedisAdmit({
      link,
      cacheLink: incarnation.link,
      isOne: links.limits === links.cache,
      windows,
      leases,
      cache,
      editions,
      metrics: report.metrics,
    }),
    cache,
    beginChange: editions.beginChange,
    snapshots: makeRedisSnapshots({ ...incarnation, concern: 'snapshot', metrics: report.metrics }),
    // Where nothing is evicted. Not in an incarnation: an anchor proves itself by the rows.
    anchors: makeRedisSnapshots({ concern: 'anchor', link, seal, metrics: report.metrics }),
    windows,
    budgets: makeRedisWindows({ ...counted, shareOut: processes.count }),
    leases,
    breakers: makeRedisBreakers({ link, seal, local: makeMemoryBreakers(clock, rule), rule }),
    connections: () => [links.limits.describe('limits'), links.cache.describe('cache')],
    ping: async () => void (await Promise.all([links.limits.probe(), links.cache.probe()])),
    async close() {
      cache.close()
      await Promise.all([incarnation.close(), leases.close(), processes.close()])
      await Promise.all([links.limits.close(), links.cache.close()])
    },
  }
}

/** One connection when both are on one server, so that later code can query both in one round trip. */
async function openLinks(
  { url, cacheUrl = url }: RedisKvOptions,
  common: Pick<RedisLinkOptions, 'report' | 'probeKey'>,
): Promise<{ readonly limits: RedisLink; readonly cache: RedisLink }> {
  if (cacheUrl === url) {
    const link = await openRedisLink({ ...common, url, serves: ['limits', 'cache'] })
    return { limits: link, cache: link }
  }
  const [limits, cache] = await Promise.all([
    openRedisLink({ ...common, url, serves: ['limits'] }),
    openRedisLink({ ...common, url: cacheUrl, serves: ['cache'] }),
  ])
  return { limits, cache }
}

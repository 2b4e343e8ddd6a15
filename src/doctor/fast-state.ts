/** Fast state: whether limits, breakers and the cache are shared between processes, or each has its own. */
import type { Kv } from '#store/kv-port.ts'
import type { Installation } from './configuration.ts'
import { type Check, fault, ok, warning } from './finding.ts'

interface Parts {
  readonly kv: Pick<Kv, 'ping' | 'isShared'>
  readonly installation: Installation
}

/** What to do when it is away. */
export const mendFastState =
  'See that the server of REDIS_URL runs, takes writes and has memory left; it is used again by itself'

export function checkFastState({ kv, installation }: Parts): Check {
  return async () => {
    const { hasRedis, hasDatabase } = installation
    if (hasRedis) {
      await kv.ping()
      if (kv.isShared()) return [ok('fast-state', 'Valkey or Redis answers and takes writes')]
      return [
        fault(
          'fast-state',
          'Valkey or Redis is away: limits and breakers are kept per process, nothing is cached',
          mendFastState,
        ),
      ]
    }
    if (!hasDatabase) return [ok('fast-state', 'in memory, as befits one process')]
    return [
      warning(
        'fast-state',
        'in memory although DATABASE_URL is set: limits, breakers and cache are not shared',
        'Set REDIS_URL as soon as there is more than one process',
      ),
    ]
  }
}

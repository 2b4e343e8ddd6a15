/** Whether limits, breakers and the cache are shared between processes, or each process has its own. */
import type { Kv, KvConnection } from '#fast/port.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

interface Options {
  readonly kv: Pick<Kv, 'ping' | 'connections'>
  readonly installation: Installation
}

/** The advice when it is unavailable. */
export const fastStateRemedy =
  'Check that the server of REDIS_URL runs, accepts writes and has free memory; this process reconnects by itself'

const whileUnavailable = {
  limits: 'limits and breakers are kept per process',
  cache: 'nothing is cached',
} as const

export function checkFastState({ kv, installation }: Options): Check {
  return async () => {
    const { hasRedis, hasDatabase } = installation
    if (hasRedis) {
      await kv.ping()
      return [examineServers(kv.connections())]
    }
    if (!hasDatabase) return [ok('fast-state', 'in memory, which is enough for one process')]
    return [
      warning(
        'fast-state',
        'in memory although DATABASE_URL is set: limits, breakers and cache are not shared',
        'Set REDIS_URL as soon as there is more than one process',
      ),
    ]
  }
}

function examineServers(connections: readonly KvConnection[]): Finding {
  const unavailable = connections.filter(({ isUp }) => !isUp)
  const variables = [...new Set(unavailable.map(({ variable }) => variable))].join(' and ')
  if (unavailable.length > 0) {
    const lost = unavailable.map(({ name }) => whileUnavailable[name]).join(', ')
    return fault(
      'fast-state',
      `Valkey or Redis is unavailable (${unavailable[0]?.trouble}): ${lost}`,
      `Check that the server of ${variables} runs, accepts writes, has free memory and permits its user the commands needed; this process reconnects by itself`,
    )
  }
  const evicts = connections.find(({ name }) => name === 'limits')?.evicts ?? null
  if (evicts === null) return ok('fast-state', 'Valkey or Redis answers and accepts writes')
  const isSeparate = connections.some(({ variable }) => variable === 'REDIS_CACHE_URL')
  return warning(
    'fast-state',
    `the server of REDIS_URL drops keys by ${evicts} when its memory is full: used-up limits may start again too early`,
    `Set its maxmemory-policy to noeviction${isSeparate ? '' : ', and use a separate server for cached answers with REDIS_CACHE_URL'}`,
  )
}

/** Assembles the admin listener: monitoring, and the admin door behind it. */
import type { FastifyInstance } from 'fastify'
import { type HealthLaneOptions, makeHealthLane } from '#doors/admin/health.ts'
import { type AdminServer, makeAdminServer } from '#doors/admin/server.ts'
import type { Listener } from '#doors/listener/listener.ts'
import type { AdminAssemblyOptions } from './admin-door.ts'

/** The caller listens, drains and closes. */
export function assembleAdmin(
  options: AdminAssemblyOptions & { readonly adminListener: Listener },
  isDraining: () => boolean,
): AdminServer {
  const monitoring = assembleMonitoring(options, isDraining)
  return makeAdminServer({
    listener: options.adminListener,
    health: makeHealthLane(monitoring),
    open: () => openAdminDoor(options, monitoring),
    onFailure: (error) => options.reports.backgroundFailure('admin', error),
  })
}

/** The door alone, for requests that are injected. */
export function openLocalDoor(options: AdminAssemblyOptions): Promise<FastifyInstance> {
  return openAdminDoor(
    options,
    assembleMonitoring(options, () => false),
  )
}

async function openAdminDoor(
  options: AdminAssemblyOptions,
  monitoring: HealthLaneOptions,
): Promise<FastifyInstance> {
  options.checkCode?.()
  const { assembleAdminDoor } = await import('./admin-door.ts')
  return assembleAdminDoor(options, monitoring)
}

function assembleMonitoring(
  options: AdminAssemblyOptions,
  isDraining: () => boolean,
): HealthLaneOptions {
  const { config, store, kv, log, metrics, backlog } = options
  return {
    listener: config.adminListener,
    log,
    metrics: {
      contentType: metrics.contentType,
      metrics: async () => `${metrics.text()}\n${await backlog.text()}`,
    },
    readiness: {
      checks: { store: () => store.ping(), kv: () => kv.ping() },
      // Every process falls back to memory alike: sending traffic elsewhere would not help.
      isUnavailable: (name) => name === 'kv' && kv.connections().some(({ isUp }) => !isUp),
      isDraining,
    },
  }
}

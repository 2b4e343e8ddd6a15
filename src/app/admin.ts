/** Assembles the admin listener: monitoring, and the admin door behind it. */
import type { FastifyInstance } from 'fastify'
import { type HealthLaneDeps, makeHealthLane } from '#doors/admin/health.ts'
import { type AdminServer, makeAdminServer } from '#doors/admin/server.ts'
import type { Listener } from '#doors/listener.ts'
import { makeBacklog } from '#telemetry/backlog-metrics.ts'
import type { AdminDoorParts } from './admin-door.ts'

/** The caller listens, drains and closes. */
export function assembleAdmin(
  parts: AdminDoorParts & { readonly adminListener: Listener },
  isDraining: () => boolean,
): AdminServer {
  const monitoring = assembleMonitoring(parts, isDraining)
  return makeAdminServer({
    listener: parts.adminListener,
    health: makeHealthLane(monitoring),
    open: () => openAdminDoor(parts, monitoring),
    onFailure: (error) => parts.reports.backgroundFailure('admin', error),
  })
}

/** The door alone, for requests that are injected. */
export function openLocalDoor(parts: AdminDoorParts): Promise<FastifyInstance> {
  return openAdminDoor(
    parts,
    assembleMonitoring(parts, () => false),
  )
}

async function openAdminDoor(
  parts: AdminDoorParts,
  monitoring: HealthLaneDeps,
): Promise<FastifyInstance> {
  parts.checkCode?.()
  const { assembleAdminDoor } = await import('./admin-door.ts')
  return assembleAdminDoor(parts, monitoring)
}

function assembleMonitoring(parts: AdminDoorParts, isDraining: () => boolean): HealthLaneDeps {
  const { config, store, kv, clock, log, metrics } = parts
  const backlog = makeBacklog({ store, clock, onFailure: parts.reports.backgroundFailure })
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

/** Assembles the admin API with its actions and the state that it reports. */

import type { FastifyInstance } from 'fastify'
import { makeAgents } from '#auth/oauth/agents.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeAdminDoor } from '#doors/admin/door.ts'
import type { Listener } from '#doors/listener.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Origins } from '#settings/config-types.ts'
import { version } from '#src/version.ts'
import type { Syncs } from '#syncs/syncs.ts'
import { makeBacklog } from '#telemetry/backlog-metrics.ts'
import { makeExamination } from './doctor.ts'
import type { Foundation } from './foundation.ts'
import type { AppOptions } from './options.ts'
import { makeAppLimits, makeAppUsage } from './usage.ts'

type AdminDoorParts = AppOptions &
  Foundation & {
    readonly syncs: Pick<Syncs, 'runSync'>
    readonly origins: () => Origins
    readonly adminListener: Listener
    /** Null: this process serves no requests. */
    readonly settleUsage: ((userId: UserId) => Promise<void>) | null
  }

/** The caller listens and closes. */
export function assembleAdmin(parts: AdminDoorParts, isDraining: () => boolean): FastifyInstance {
  const { config, store, kv, actions, connections, webhooks, clock, log, metrics } = parts
  const backlog = makeBacklog({ store, clock, onFailure: parts.reports.backgroundFailure })
  // A worker has no authorization server; what agents are connected stands in the store.
  const agents = makeAgents({ store, clock })
  return makeAdminDoor({
    store,
    actions,
    connections,
    webhooks,
    runSync: parts.syncs.runSync,
    readUsage: makeAppUsage(parts, parts.settleUsage),
    readLimits: makeAppLimits(parts, agents),
    agents,
    sessions: makeSessions({ store, clock }),
    clock,
    windows: kv.windows,
    adminToken: parts.secrets.adminToken,
    planSettings: config.plans,
    listener: config.adminListener,
    transport: {
      serverFactory: parts.adminListener.makeServer,
      clientErrorHandler: parts.adminListener.clientErrorHandler,
    },
    log,
    describeService: () => {
      const { base: baseUrl, mcp: mcpUrl } = parts.origins()
      return { version, mode: config.mode, baseUrl, mcpUrl }
    },
    examine: makeExamination({
      ...parts,
      onFailure: (error) => parts.reports.backgroundFailure('doctor', error),
    }),
    metrics: {
      contentType: metrics.contentType,
      metrics: async () => `${await metrics.text()}\n${await backlog.text()}`,
    },
    readiness: {
      checks: { store: () => store.ping(), kv: () => kv.ping() },
      // Every process falls back to memory in the same way: sending traffic to another process would not help.
      isUnavailable: (name) => name === 'kv' && kv.connections().some(({ isUp }) => !isUp),
      isDraining,
    },
    ...(parts.adminExtension === undefined
      ? {}
      : { extension: parts.adminExtension({ store, connections, clock }) }),
  })
}

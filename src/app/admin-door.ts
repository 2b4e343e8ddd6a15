/** Assembles the admin door with its actions and what it reports; loaded at the first request for it. */

import type { FastifyInstance } from 'fastify'
import { makeAgents } from '#auth/oauth/agents.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeAdminDoor } from '#doors/admin/door.ts'
import type { HealthLaneOptions } from '#doors/admin/health.ts'
import { addOperatorPages } from '#doors/pages/operator/routes.ts'
import type { UserId } from '#kernel/ids.ts'
import { version } from '#src/version.ts'
import type { Syncs } from '#syncs/syncs.ts'
import { makeReadProviders } from '#usage/provider-states.ts'
import { makeExamination } from './doctor.ts'
import type { AssemblyOptions } from './foundation.ts'
import { makeAppLimits, makeAppUsage } from './usage.ts'

export interface AdminAssemblyOptions extends AssemblyOptions {
  readonly syncs: Pick<Syncs, 'runSync'>
  /** Null: this process serves no requests. */
  readonly settleUsage: ((userId: UserId) => Promise<void>) | null
}

/** The caller closes it. */
export function assembleAdminDoor(
  options: AdminAssemblyOptions,
  monitoring: HealthLaneOptions,
): FastifyInstance {
  const { config, store, kv, actions, connections, webhooks, clock } = options
  // A worker has no authorization server; what agents are connected stands in the store.
  const agents = makeAgents({ store, clock })
  return makeAdminDoor({
    store,
    actions,
    connections,
    webhooks,
    runSync: options.syncs.runSync,
    readUsage: makeAppUsage(options, { settle: options.settleUsage, agents }),
    readLimits: makeAppLimits(options, agents),
    readProviders: makeReadProviders(options),
    readQueues: options.queues.read,
    agents,
    sessions: makeSessions({ store, clock }),
    clock,
    windows: kv.windows,
    adminToken: options.secrets.adminToken,
    planSettings: config.plans,
    checkReplies: options.checkReplies,
    ...monitoring,
    describeService: () => {
      const { base: baseUrl, mcp: mcpUrl } = options.origins()
      return { version, mode: config.mode, baseUrl, mcpUrl }
    },
    examine: makeExamination(options),
    addPages: (app) =>
      addOperatorPages(app, {
        adminToken: options.secrets.adminToken,
        clock,
        readMetrics: options.metrics.read,
      }),
    ...(options.adminExtension === undefined
      ? {}
      : { extension: options.adminExtension({ store, connections, clock }) }),
  })
}

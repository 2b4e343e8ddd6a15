/**
 * The doors behind Fastify on the public listener: documents and pages. The others are in `direct-doors.ts`.
 */
import type { FastifyInstance } from 'fastify'
import type { OAuth } from '#auth/oauth/oauth.ts'
import type { Sessions } from '#auth/sign-in/sessions.ts'
import { makeAddMadeUpData } from '#connections/linking/add-made-up-data.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { clientAddress } from '#doors/client.ts'
import { docsDoor } from '#doors/docs/docs-door.ts'
import { makeOwnReads } from '#doors/pages/money/own-reads.ts'
import { pagesDoor } from '#doors/pages/pages-door.ts'
import type { Gate } from '#gate/gate.ts'
import { version } from '#src/version.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import type { ReadLimits } from '#usage/limits-left.ts'
import type { ReadUsage } from '#usage/report.ts'
import type { AssemblyOptions } from './foundation.ts'
import { listLinkingTargets, listSampleTokens } from './linking.ts'

interface DoorOptions extends AssemblyOptions {
  readonly authorization: OAuth
  readonly sessions: Sessions
  readonly gate: Gate
  readonly observeRead: (record: ReadRecord) => void
  readonly readUsage: ReadUsage
  readonly readLimits: ReadLimits
}

/** Registers the doors on the public server's Fastify instance. */
export async function mountDoors(fastify: FastifyInstance, options: DoorOptions): Promise<void> {
  const { config, authorization, reports, origins } = options
  const document = () => makeOpenApi({ baseUrl: origins().base, version })
  await fastify.register(docsDoor, { document })
  await fastify.register(pagesDoor, {
    ...options,
    openOwnReads: makeOwnReads({
      gate: options.gate,
      findAccess: (id) => options.store.users.findAccess(id),
      observe: options.observeRead,
    }),
    consent: authorization.consent,
    agents: authorization.agents,
    plans: config.plans,
    linkingTargets: listLinkingTargets(options.access),
    sampleTokens: listSampleTokens(options.connections.linkingWays, options.madeUpPeople ?? []),
    addMadeUpData: makeAddMadeUpData(
      options.connections.linkConnections,
      options.madeUpPeople ?? [],
    ),
    isLoopback: config.listener.isLoopback,
    secure: origins().base.startsWith('https:'),
    addressOf: (request) =>
      clientAddress(request.raw, (address) => config.trustedProxies.includes(address)),
    onFailure: (error, requestId) => reports.backgroundFailure('pages', error, requestId),
  })
}

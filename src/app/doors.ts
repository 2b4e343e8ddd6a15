/**
 * The doors behind Fastify on the public listener: documents, agents, the authorization server, pages. The REST lane is
 * separate (src/doors/public-server.ts).
 */
import type { FastifyInstance } from 'fastify'
import type { OAuth } from '#auth/oauth/oauth.ts'
import type { Sessions } from '#auth/sign-in/sessions.ts'
import { makeAddMadeUpData } from '#connections/add-made-up-data.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { clientAddress } from '#doors/client.ts'
import { docsDoor } from '#doors/docs/docs-door.ts'
import type { Handler } from '#doors/listener.ts'
import { mcpDoor } from '#doors/mcp/door.ts'
import { type McpLaneOptions, makeMcpLane } from '#doors/mcp/lane.ts'
import { oauthDoor } from '#doors/oauth/oauth-door.ts'
import { pagesDoor } from '#doors/pages/pages-door.ts'
import { providerWebhooksDoor } from '#doors/provider-webhooks/door.ts'
import type { ReadLimits } from '#gate/limits-left.ts'
import { makeThrottle } from '#gate/throttle.ts'
import type { ReadUsage } from '#gate/usage-report.ts'
import { providerNames } from '#providers/all-facts.ts'
import type { Origins } from '#settings/config-types.ts'
import { version } from '#src/version.ts'
import type { Foundation } from './foundation.ts'
import { listLinkingTargets, listSampleTokens } from './linking.ts'
import type { AppOptions } from './options.ts'

type DoorParts = AppOptions &
  Foundation & {
    readonly authorization: OAuth
    readonly sessions: Sessions
    readonly agentDoor: McpLaneOptions
    readonly readUsage: ReadUsage
    readonly readLimits: ReadLimits
    /** Called late: with port 0 the origins are known once the listener is bound (reading R2). */
    readonly origins: () => Origins
  }

/** Per address. Those of a provider that was given a wrong secret are refused as well, and it repeats them later. */
const failedWebhooksPerMinute = 600

/** Registers the doors on the public server's Fastify instance; returns the lane of agents. */
export async function mountDoors(fastify: FastifyInstance, parts: DoorParts): Promise<Handler> {
  const { config, authorization, reports, origins } = parts
  const { isLoopback } = config.listener
  const document = () => makeOpenApi({ baseUrl: origins().base, version })
  await fastify.register(docsDoor, { document })
  const agents = makeMcpLane(parts.agentDoor)
  await fastify.register(mcpDoor, { lane: agents })
  await fastify.register(oauthDoor, {
    oauth: authorization,
    origins,
    isLoopback,
    onRefused: reports.request,
  })
  await fastify.register(providerWebhooksDoor, {
    providers: providerNames.filter((name) => parts.adapters[name]?.webhooks !== undefined),
    receive: parts.connections.receiveWebhook,
    throttle: makeThrottle(parts.kv.windows, {
      preauth: failedWebhooksPerMinute,
      preauthIp: config.limits.preauthIp,
    }),
    isTrustedProxy: (address) => config.trustedProxies.includes(address),
    observe: reports.providerWebhook,
  })
  await fastify.register(pagesDoor, {
    ...parts,
    consent: authorization.consent,
    agents: authorization.agents,
    plans: config.plans,
    linkingTargets: listLinkingTargets(parts.access),
    sampleTokens: listSampleTokens(parts.connections.linkingWays, parts.madeUpPeople ?? []),
    addMadeUpData: makeAddMadeUpData(parts.connections.linkConnections, parts.madeUpPeople ?? []),
    isLoopback,
    secure: origins().base.startsWith('https:'),
    addressOf: (request) =>
      clientAddress(request.raw, (address) => config.trustedProxies.includes(address)),
    onFailure: (error) => reports.backgroundFailure('pages', error),
  })
  return (request, response) => void agents.serve(request, response)
}

/**
 * The doors of the public listener that need no router: agents, the authorization server, webhooks of
 * providers. This file loads none of them.
 */
import type { OAuth } from '#auth/oauth/oauth.ts'
import type { DirectDoor } from '#doors/listener/late-router.ts'
import type { McpLaneOptions } from '#doors/mcp/lane.ts'
import type { Gate } from '#gate/gate.ts'
import { makeThrottle, type Throttle } from '#gate/throttle.ts'
import { lazily } from '#kernel/lazily.ts'
import { providerNames } from '#providers/all-facts.ts'
import type { SimplefinRecord } from '#telemetry/request-record.ts'
import type { AssemblyOptions } from './foundation.ts'

interface DirectDoorOptions extends AssemblyOptions {
  readonly authorization: OAuth
  readonly agentDoor: McpLaneOptions
  /** What programs that read SimpleFIN share with the other doors. */
  readonly simplefin: {
    readonly gate: Gate
    readonly throttle: Throttle
    readonly observe: (record: SimplefinRecord) => void
  }
}

/** Per address. With a wrong secret a provider's own are refused as well, and it repeats them later. */
const failedWebhooksPerMinute = 600

export function listDirectDoors(options: DirectDoorOptions): readonly DirectDoor[] {
  return [
    toAgentDoor(options),
    toOAuthDoor(options),
    toSimplefinDoor(options),
    ...listWebhookDoors(options),
  ]
}

function toAgentDoor({ agentDoor }: DirectDoorOptions): DirectDoor {
  return {
    // In every method: the lane refuses the others.
    owns: (_method, path) => path === '/mcp',
    async open() {
      const { makeMcpLane } = await import('#doors/mcp/lane.ts')
      const lane = makeMcpLane(agentDoor)
      return {
        serve: (request, response) => void lane.serve(request, response),
        close: () => lane.close(),
      }
    },
  }
}

function toOAuthDoor({ authorization, config, origins, reports }: DirectDoorOptions): DirectDoor {
  return {
    owns: authorization.owns,
    async open() {
      const { makeOAuthDoor } = await import('#doors/oauth/oauth-door.ts')
      const { isLoopback } = config.listener
      const onRefused = reports.request
      const serve = makeOAuthDoor({ oauth: authorization, origins, isLoopback, onRefused })
      return { serve, close: closeNothing }
    },
  }
}

/** `/simplefin/create` is a page. */
function toSimplefinDoor({
  simplefin,
  config,
  store,
  kv,
  clock,
  reports,
  origins,
}: DirectDoorOptions): DirectDoor {
  return {
    owns: (_method, path) => /^\/simplefin\/(?:info$|accounts$|claim\/)/.test(path),
    async open() {
      const [{ makeSimplefinLane }, { makeIdentifyProgram }, { makeClaimProgram }] =
        await Promise.all([
          import('#doors/simplefin/lane.ts'),
          import('#gate/identify-program.ts'),
          import('#auth/programs/claim-program.ts'),
        ])
      const { gate, throttle, observe } = simplefin
      const lane = makeSimplefinLane({
        gate,
        identify: makeIdentifyProgram({
          programs: store.programs,
          throttle,
          clock,
          onBackgroundFailure: reports.backgroundFailure,
        }),
        claim: makeClaimProgram({ store, clock }),
        throttle,
        store,
        windows: kv.windows,
        leases: kv.leases,
        clock,
        isTrustedProxy: (address) => config.trustedProxies.includes(address),
        baseUrl: () => origins().base,
        requestTimeoutMs: config.requestTimeoutMs,
        observe,
      })
      return { serve: lane, close: closeNothing }
    },
  }
}

/**
 * `POST /providers/{provider}/webhook` for each provider that is configured with what verifies its webhooks.
 */
function listWebhookDoors(options: DirectDoorOptions): readonly DirectDoor[] {
  const { adapters, config, connections, kv, reports } = options
  const openLane = lazily(async () => {
    const { makeWebhookLane } = await import('#doors/provider-webhooks/lane.ts')
    const { preauthIp } = config.limits
    return makeWebhookLane({
      receive: connections.receiveWebhook,
      throttle: makeThrottle(kv.windows, { preauth: failedWebhooksPerMinute, preauthIp }),
      isTrustedProxy: (address) => config.trustedProxies.includes(address),
      observe: reports.providerWebhook,
    })
  })
  const providers = providerNames.filter((name) => adapters[name]?.webhooks !== undefined)
  return providers.map((provider) => ({
    owns: (method, path) => method === 'POST' && path === `/providers/${provider}/webhook`,
    async open() {
      const serve = await openLane()
      return {
        serve: (request, response) => void serve(provider, request, response),
        close: closeNothing,
      }
    },
  }))
}

async function closeNothing(): Promise<void> {}

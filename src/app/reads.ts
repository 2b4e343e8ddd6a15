/**
 * Assembles the path of a read, from throttle to provider, and the two lanes that use it: REST and agents.
 * The caller closes it before the store.
 */
import type { TokenReader } from '#auth/oauth/port.ts'
import { readConnectionLimits } from '#doors/listener/connection-limits.ts'
import { makeRestLane } from '#doors/rest/lane.ts'
import type { StaticPage } from '#doors/rest/reply.ts'
import { makeAdmission, makeGoodTokens } from '#gate/admit.ts'
import { makeGate } from '#gate/gate.ts'
import { makeIdentify } from '#gate/identify.ts'
import { makeIdentifyAgent } from '#gate/identify-agent.ts'
import { makeThrottle } from '#gate/throttle.ts'
import { version } from '#src/version.ts'
import { makeEventFollower } from '#webhooks/follow-events.ts'
import type { AssemblyOptions } from './foundation.ts'
import { makeReader } from './reader.ts'
import { startCounting, toGateLimits } from './usage.ts'

interface ReadsOptions extends AssemblyOptions {
  /** The page for a browser on a path that no door owns, by its `Cookie` header. */
  readonly unknownPage: (cookies: string | undefined) => StaticPage
  /** Null: there is no authorization server, and agents use API keys only. */
  readonly tokens: TokenReader | null
}

/** The share of the connections of a process that may wait for events. */
const waitingShare = 0.8

function openFollower({ store, clock, sealer }: ReadsOptions) {
  const { public: connections } = readConnectionLimits()
  return makeEventFollower({
    store,
    clock,
    cursorSecrets: sealer.deriveAll('event-cursor'),
    // The others are for requests that do not wait.
    maxWaits: Math.floor(connections.evictAbove * waitingShare),
  })
}

export function assembleReading(options: ReadsOptions) {
  const { config, store, kv, clock, reports } = options
  const reader = makeReader(options)
  const identify = makeIdentify({ store, clock, onBackgroundFailure: reports.backgroundFailure })
  const events = openFollower(options)
  const gate = makeGate({
    kv,
    read: reader.read,
    events,
    renew: identify.renew,
    clock,
    plans: config.plans,
    limits: toGateLimits(config),
    checkReplies: options.checkReplies,
  })
  const stopDropping = store.onChange(({ userId }) => kv.cache.drop(userId))
  const { preauth, preauthIp } = config.limits
  const throttle = makeThrottle(kv.windows, { preauth, preauthIp }, store.forStranger)
  const good = makeGoodTokens()
  const entrance = {
    gate,
    throttle,
    clock,
    isTrustedProxy: (address: string) => config.trustedProxies.includes(address),
  }
  const counting = startCounting(options)
  const { observe } = counting
  const agents = {
    ...entrance,
    admit: makeAdmission({
      throttle,
      good,
      identify: makeIdentifyAgent({
        keys: identify,
        tokens: options.tokens,
        store,
        clock,
        onBackgroundFailure: reports.backgroundFailure,
      }),
    }),
    origins: options.origins,
    isLoopback: config.listener.isLoopback,
    requestTimeoutMs: config.requestTimeoutMs,
    maxAnswerBytes: config.mcpMaxAnswerBytes,
    hasExtraTools: config.mcpExtraTools,
    version,
    observe,
  }
  return {
    lane: makeRestLane({
      ...entrance,
      admit: makeAdmission({ throttle, good, identify }),
      docsUrl: () => `${options.origins().base}/doc`,
      unknownPage: options.unknownPage,
      observe,
    }),
    agents,
    simplefin: { gate, throttle, observe: counting.observeSimplefin },
    pages: { gate, observeRead: observe },
    settleUsage: counting.settle,
    /** Whoever waits for events is answered: the process is stopping. */
    endWaits: events.end,
    async close() {
      events.close()
      await counting.close()
      identify.close()
      stopDropping()
      await reader.close()
    },
  }
}

/**
 * Assembles the path of a read, from throttle to provider, and the two lanes that use it: REST and agents.
 * The caller closes it before the store.
 */
import type { TokenReader } from '#auth/oauth/port.ts'
import { makeRestLane } from '#doors/rest/lane.ts'
import type { StaticPage } from '#doors/rest/reply.ts'
import { makeAdmission, makeGoodTokens } from '#gate/admit.ts'
import { makeGate } from '#gate/gate.ts'
import { makeIdentify } from '#gate/identify.ts'
import { makeIdentifyAgent } from '#gate/identify-agent.ts'
import { makeThrottle } from '#gate/throttle.ts'
import { version } from '#src/version.ts'
import type { AssemblyOptions } from './foundation.ts'
import { makeReader } from './reader.ts'
import { startCounting, toGateLimits } from './usage.ts'

interface ReadsOptions extends AssemblyOptions {
  /** The page for a browser on a path that no door owns. */
  readonly unknownPage: StaticPage
  /** Null: there is no authorization server, and agents use API keys only. */
  readonly tokens: TokenReader | null
}

export function assembleReading(options: ReadsOptions) {
  const { config, store, kv, clock, reports } = options
  const reader = makeReader(options)
  const identify = makeIdentify({ store, clock, onBackgroundFailure: reports.backgroundFailure })
  const gate = makeGate({
    kv,
    read: reader.read,
    renew: identify.renew,
    clock,
    plans: config.plans,
    limits: toGateLimits(config),
    checkReplies: options.checkReplies,
  })
  const stopDropping = store.onChange(({ userId }) => kv.cache.drop(userId))
  const { preauth, preauthIp } = config.limits
  const throttle = makeThrottle(kv.windows, { preauth, preauthIp })
  const good = makeGoodTokens()
  const entrance = {
    gate,
    throttle,
    clock,
    isTrustedProxy: (address: string) => config.trustedProxies.includes(address),
  }
  const counting = startCounting(options)
  const { observe } = counting
  const docsUrl = () => `${options.origins().base}/doc`
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
    maxAnswerBytes: config.mcpMaxAnswerBytes,
    version,
    observe,
  }
  return {
    lane: makeRestLane({
      ...entrance,
      admit: makeAdmission({ throttle, good, identify }),
      docsUrl,
      unknownPage: options.unknownPage,
      observe,
    }),
    agents,
    simplefin: { gate, throttle, observe: counting.observeSimplefin },
    pages: { gate, observeRead: observe },
    settleUsage: counting.settle,
    async close() {
      await counting.close()
      identify.close()
      stopDropping()
      await reader.close()
    },
  }
}

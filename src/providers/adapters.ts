/** The adapters that are configured, each with its own pool; an unconfigured provider is simply absent. */
import type { Clock } from '#kernel/time.ts'
import { makeAkahu } from './akahu/index.ts'
import type { Budget } from './budget.ts'
import { makeFiskil } from './fiskil/index.ts'
import type { Adapters, UpstreamReport } from './port.ts'
import { makeSnapTrade } from './snaptrade/index.ts'

/** Where each provider is and what opens it; null: not configured. Secrets are opened by the composition root. */
export interface ProviderAccess {
  readonly fiskil: {
    readonly baseUrl: string
    readonly clientId: string
    readonly clientSecret: string
    readonly version: string
  } | null
  readonly akahu: {
    readonly baseUrl: string
    readonly appToken: string
    readonly appSecret: string
  } | null
  readonly snaptrade: {
    readonly baseUrl: string
    readonly clientId: string
    readonly consumerKey: string
  } | null
}

export interface AdapterOptions {
  readonly access: ProviderAccess
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  readonly snaptradeBudget: Budget
}

/** Opens them; close each with its own `close`. */
export function makeAdapters(options: AdapterOptions): Adapters {
  const { access, timeoutMs, clock, report } = options
  const shared = { timeoutMs, clock, report }
  return {
    ...(access.fiskil === null ? {} : { fiskil: makeFiskil({ ...access.fiskil, ...shared }) }),
    ...(access.akahu === null ? {} : { akahu: makeAkahu({ ...access.akahu, ...shared }) }),
    ...(access.snaptrade === null
      ? {}
      : {
          snaptrade: makeSnapTrade({
            ...access.snaptrade,
            ...shared,
            throttle: options.snaptradeBudget,
          }),
        }),
  }
}

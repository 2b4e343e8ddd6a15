/**
 * The configured adapters, each with its own connection pool; a provider that is not configured is absent.
 */
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import { makeAkahu } from './akahu/index.ts'
import { factsOf, providerNames } from './all-facts.ts'
import type { Budget } from './budget.ts'
import { makeEnableBanking } from './enablebanking/index.ts'
import { makeFiskil } from './fiskil/index.ts'
import type { Adapter, Adapters, UpstreamReport } from './port.ts'
import type { BudgetLimits } from './provider-facts.ts'
import type { Readings } from './readings.ts'
import { makeSimplefin } from './simplefin/index.ts'
import { makeSnapTrade } from './snaptrade/index.ts'
import { makeUp } from './up/index.ts'

/** One line per provider; the compiler requires each. */
const makers = {
  fiskil: makeFiskil,
  akahu: makeAkahu,
  snaptrade: makeSnapTrade,
  up: makeUp,
  simplefin: makeSimplefin,
  enablebanking: makeEnableBanking,
} as const satisfies Readonly<Record<Provider, (options: never) => Adapter>>

/** What every adapter receives. */
interface Shared {
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call to a provider that limits them. */
  readonly throttle: Budget
  /** Consulted before every call about one account, at a provider that limits these. */
  readonly accountThrottle: Budget
  /** The address leads back to this service; absent: none does. */
  readonly isOurs?: (url: URL) => boolean
  /** What was read of a provider that is read only a few times a day. */
  readonly readings: Readings
}

type Makers = typeof makers

/** Address and credentials per provider; null: not configured. The composition root decrypts the secrets. */
export type ProviderAccess = {
  readonly [Name in Provider]: Omit<Parameters<Makers[Name]>[0], keyof Shared> | null
}

export interface AdapterOptions extends Omit<Shared, 'throttle' | 'accountThrottle'> {
  readonly access: ProviderAccess
  /** Makes a call counter; counters of different names count separately. */
  readonly budget: (name: string, limits: BudgetLimits) => Budget
}

const unlimited: Budget = async () => ({ allowed: true })

/** Opens the adapters; `close` each one separately. */
export function makeAdapters({ access, budget, ...shared }: AdapterOptions): Adapters {
  const adapters: Partial<Record<Provider, Adapter>> = {}
  for (const name of providerNames) {
    const own = access[name]
    if (own === null) continue
    const { budget: limits, accountBudget } = factsOf(name)
    const throttle = limits === null ? unlimited : budget(name, limits)
    const accountThrottle =
      accountBudget === undefined ? unlimited : budget(`${name}-account`, accountBudget)
    // The compiler cannot see that access and maker are one provider's; `ProviderAccess` has them by name.
    const make = makers[name] as (options: object) => Adapter
    adapters[name] = make({ ...own, ...shared, throttle, accountThrottle })
  }
  return adapters
}

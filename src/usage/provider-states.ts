/**
 * What operators see of each provider now: its breakers, which belong to connections, and what is left of the
 * requests that it allows. Looking counts nothing and asks no provider.
 */
import type { Provider } from '#contract/resources.ts'
import type { Kv } from '#fast/port.ts'
import { type Clock, toIso } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import { nameBreaker } from '#providers/guard.ts'
import type { Adapter, Adapters, CallsLeft, Login } from '#providers/port.ts'
import type { LinkedConnection } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import { SealError } from '#store/seal.ts'

export interface ProviderStanding {
  readonly provider: Provider
  /** Active connections that were looked at, the newest 500 at most; `isAll` false: there are more. */
  readonly connections: { readonly seen: number; readonly isAll: boolean }
  readonly breakers: {
    readonly closed: number
    readonly open: number
    readonly halfOpen: number
    /** When the last of the open ones lets a request through; null: none is open. */
    readonly openUntil: string | null
  }
  /** What is left to the login with the smallest share, of 50 that were asked at most; null: no limit. */
  readonly budget: (CallsLeft & { readonly logins: number }) | null
}

/** Every configured provider. */
export type ReadProviders = () => Promise<readonly ProviderStanding[]>

export interface ProviderStatesOptions {
  readonly store: Pick<Store, 'inspector' | 'logins'>
  readonly kv: Pick<Kv, 'breakers'>
  readonly adapters: Adapters
  readonly clock: Clock
}

const mostConnections = 500
const mostLogins = 50
/** This many breakers are asked at the same time. */
const batch = 100

/** Makes the reader. */
export function makeReadProviders(options: ProviderStatesOptions): ReadProviders {
  return async () => {
    const standings: ProviderStanding[] = []
    for (const adapter of Object.values(options.adapters)) {
      standings.push(await readStanding(options, adapter))
    }
    return standings
  }
}

async function readStanding(
  options: ProviderStatesOptions,
  adapter: Adapter,
): Promise<ProviderStanding> {
  const { provider } = adapter
  const found = await options.store.inspector.listLinked({ provider, limit: mostConnections + 1 })
  const linked = found.slice(0, mostConnections)
  return {
    provider,
    connections: { seen: linked.length, isAll: found.length <= mostConnections },
    breakers: await readBreakers(options, provider, linked),
    budget: await readBudget(options, adapter, linked),
  }
}

async function readBreakers(
  { kv, clock }: ProviderStatesOptions,
  provider: Provider,
  linked: readonly LinkedConnection[],
): Promise<ProviderStanding['breakers']> {
  const counts = { closed: 0, open: 0, halfOpen: 0 }
  let longestMs = 0
  for (let at = 0; at < linked.length; at += batch) {
    const looks = await Promise.all(
      linked
        .slice(at, at + batch)
        .map(({ id, userId }) =>
          kv.breakers.peek(nameBreaker({ provider, userId, connectionId: id })),
        ),
    )
    for (const look of looks) {
      counts[look.kind === 'half_open' ? 'halfOpen' : look.kind] += 1
      if (look.kind === 'open') longestMs = Math.max(longestMs, look.cooldownMs)
    }
  }
  const openUntil = counts.open === 0 ? null : toIso(clock.now() + longestMs)
  return { ...counts, openUntil }
}

async function readBudget(
  { store }: ProviderStatesOptions,
  adapter: Adapter,
  linked: readonly LinkedConnection[],
): Promise<ProviderStanding['budget']> {
  if (adapter.callsLeft === undefined) return null
  const ids = [...new Set(linked.map(({ loginId }) => loginId))].slice(0, mostLogins)
  let lowest: CallsLeft | null = null
  let logins = 0
  for (const id of ids) {
    const left = await askLeft(store, adapter, id)
    if (left === null) continue
    logins += 1
    // One budget of all of them is the same for each.
    if (left.isShared) return { ...left, logins: ids.length }
    if (lowest === null || left.left * lowest.calls < lowest.left * left.calls) lowest = left
  }
  return lowest === null ? null : { ...lowest, logins }
}

/** Null for a login that is gone, whose secret does not open, or that cannot be used at present. */
async function askLeft(
  store: ProviderStatesOptions['store'],
  adapter: Adapter,
  id: Login['id'],
): Promise<CallsLeft | null> {
  try {
    const login = await store.logins.get(id)
    return login === null ? null : ((await adapter.callsLeft?.(login)) ?? null)
  } catch (error) {
    if (error instanceof SealError || error instanceof UpstreamError) return null
    throw error
  }
}

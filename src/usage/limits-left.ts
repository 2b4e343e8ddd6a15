/**
 * What is left of a user's limits now, without counting anything: the windows of each key and agent, and the
 * requests that a provider still allows for this person or for the whole installation.
 */
import { toGrantBucket } from '#auth/caller.ts'
import { toKeyStatus } from '#auth/keys.ts'
import type { Agents } from '#auth/oauth/port.ts'
import type { Bucket } from '#contract/operations.ts'
import type { Provider } from '#contract/resources.ts'
import type { Kv, WindowState } from '#fast/port.ts'
import { type GateLimits, nameWindow } from '#gate/gate.ts'
import { windowMs } from '#gate/throttle.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { Adapter, Adapters, CallsLeft, Login } from '#providers/port.ts'
import { openLogin } from '#store/open-login.ts'
import type { Store } from '#store/ports/store.ts'

/** A key or an agent, and what is left in this minute; null: the server that counts is unavailable. */
export interface ReaderLimits {
  readonly kind: 'key' | 'agent'
  readonly name: string
  readonly left: Readonly<Record<Bucket, WindowState | null>>
}

export interface LimitsLeft {
  /** Requests a minute; 0: no limit. */
  readonly perMinute: GateLimits['buckets']
  /** Heavy requests of one key or agent at the same time; 0: no limit. */
  readonly atOnce: number
  readonly readers: readonly ReaderLimits[]
  /** Providers that limit requests and where this person has a login. `left` null: not known. */
  readonly providers: readonly {
    readonly provider: Provider
    readonly left: CallsLeft | null
  }[]
}

export type ReadLimits = (userId: UserId) => Promise<LimitsLeft>

export interface LimitsLeftOptions {
  readonly store: Pick<Store, 'keys' | 'logins'>
  readonly agents: Pick<Agents, 'list'>
  readonly kv: Pick<Kv, 'windows' | 'connections'>
  readonly adapters: Adapters
  readonly limits: Pick<GateLimits, 'buckets' | 'concurrency'>
  readonly clock: Clock
}

/** A user has at most twenty active keys; older agents beyond this are left out. */
export const mostReaders = 40

export function makeReadLimits(options: LimitsLeftOptions): ReadLimits {
  const { store, agents, kv, limits, clock } = options
  return async (userId) => {
    const keys = (await store.keys.list(userId)).filter(
      (key) => toKeyStatus(key, clock.now()) === 'active',
    )
    const readers = [
      ...keys.map(({ id, name }) => ({ kind: 'key' as const, name, bucketId: id as string })),
      ...(await agents.list(userId)).map(({ grantId, clientName }) => ({
        kind: 'agent' as const,
        name: clientName,
        bucketId: toGrantBucket(grantId),
      })),
    ].slice(0, mostReaders)
    const isKnown = kv.connections().every(({ name, isUp }) => name !== 'limits' || isUp)
    return {
      perMinute: limits.buckets,
      atOnce: limits.concurrency,
      readers: await Promise.all(
        readers.map(async ({ kind, name, bucketId }) => ({
          kind,
          name,
          left: isKnown ? await readLeft(options, userId, bucketId) : unknown,
        })),
      ),
      providers: await readProviders(options, userId, isKnown),
    }
  }
}

const unknown = { cheap: null, mid: null, heavy: null }

async function readLeft(
  { kv, limits: { buckets } }: LimitsLeftOptions,
  userId: UserId,
  bucketId: string,
): Promise<Readonly<Record<Bucket, WindowState>>> {
  const peek = (bucket: Bucket) =>
    kv.windows.peek(nameWindow(userId, bucketId, bucket), buckets[bucket], windowMs)
  const [cheap, mid, heavy] = await Promise.all([peek('cheap'), peek('mid'), peek('heavy')])
  return { cheap, mid, heavy }
}

async function readProviders(
  { store, adapters }: LimitsLeftOptions,
  userId: UserId,
  isKnown: boolean,
): Promise<LimitsLeft['providers']> {
  const found: { readonly provider: Provider; readonly left: CallsLeft | null }[] = []
  for (const id of await store.logins.listIds(userId)) {
    const login = await openLogin(store, id)
    // Reads with a damaged secret fail and say so.
    if (login === null || login === 'damaged') continue
    const left = await askAdapter(adapters[login.provider], login)
    if (left === null) continue
    // Several logins may share the budget of the whole installation.
    const isShown = found.some((one) => one.provider === login.provider && one.left?.isShared)
    if (!isShown) found.push({ provider: login.provider, left: isKnown ? left : null })
  }
  return found
}

/**
 * Null where the provider does not limit us, and for a login that this installation cannot use at present.
 */
async function askAdapter(adapter: Adapter | undefined, login: Login): Promise<CallsLeft | null> {
  try {
    return (await adapter?.callsLeft?.(login)) ?? null
  } catch (error) {
    if (error instanceof UpstreamError) return null
    throw error
  }
}

/**
 * The steps between a door and a resource, in the order of reading R3: limit, entitle, lease, cache, resource. Doors
 * translate; the rules stand here, once, for REST and for agents.
 */
import type { Caller } from '#auth/caller.ts'
import { hasApiAccess, hasBrokerageAccess, type PlanSettings } from '#auth/plans.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import type { Bucket, Operation } from '#contract/operations.ts'
import type { Clock } from '#kernel/time.ts'
import type { Read } from '#resources/read.ts'
import type { Kv, Lease, Maybe, WindowState } from '#store/kv-port.ts'
import { makeFlights } from './flight.ts'
import { windowMs } from './throttle.ts'
import { makeUrlKey } from './url-key.ts'

export type CacheResult = 'HIT' | 'MISS' | 'BYPASS'

export interface Answer {
  readonly body: Uint8Array
  readonly truncated: boolean
  readonly cache: CacheResult
}

/** An error that happened after the cache was asked: it carries what `X-Cache` must say (reading R8). */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly cache: CacheResult
  constructor(cache: CacheResult, cause: unknown) {
    super('the answer failed', { cause })
    this.cache = cache
  }
}

export interface GateLimits {
  readonly buckets: Readonly<Record<Bucket, number>>
  readonly concurrency: number
  readonly requestTimeoutMs: number
}

export interface GateOptions {
  readonly kv: Kv
  readonly read: Read
  readonly clock: Clock
  readonly plans: PlanSettings
  readonly limits: GateLimits
  /** Parses every fresh reply with its schema: in tests and development a mismatch fails loudly. */
  readonly checkReplies: boolean
}

export interface Gate {
  /** Counts one request in the caller's window of this bucket. */
  limit(caller: Caller, bucket: Bucket): Maybe<WindowState>
  /** Looks at it without counting. */
  peek(caller: Caller, bucket: Bucket): Maybe<WindowState>
  /** Throws `plan_required` or `professional_required`. */
  entitle(caller: Caller, operation: Operation): void
  /**
   * Lease, cache, resource. `rawQuery` as it came, without "?". `departure` makes the signal that is aborted when
   * the caller leaves; it is asked for only where there is something to wait for. Throws GateError, or ApiError before the
   * cache.
   */
  answer(
    caller: Caller,
    operation: Operation,
    rawQuery: string,
    departure: () => AbortSignal,
  ): Promise<Answer>
}

interface Computed {
  readonly body: Uint8Array
  readonly truncated: boolean
  readonly stored: boolean
}

export function makeGate(options: GateOptions): Gate {
  const { kv, clock, plans, limits } = options
  const urlKey = makeUrlKey()
  const flights = makeFlights<Computed>(limits.requestTimeoutMs)

  async function compute(
    key: string,
    caller: Caller,
    operation: Operation,
    rawQuery: string,
    signal: AbortSignal,
  ): Promise<Computed> {
    const query = new URLSearchParams(rawQuery)
    const reading = await options.read(operation.name, query, { caller, signal })
    if (options.checkReplies) operation.reply.parse(reading.body)
    const { truncated } = reading
    const body = Buffer.from(JSON.stringify(reading.body))
    if (!reading.cacheable) return { body, truncated, stored: true }
    const answer = { body, truncated }
    // Reading R19: what an answer is made of may have lived for a while already.
    const lifeMs = Math.min(
      operation.cacheSeconds * 1000,
      (reading.staleAt ?? Number.POSITIVE_INFINITY) - clock.now(),
    )
    if (lifeMs <= 0) return { ...answer, stored: true }
    return { ...answer, stored: await kv.cache.set(key, answer, lifeMs) }
  }

  async function cached(
    caller: Caller,
    operation: Operation,
    rawQuery: string,
    departure: () => AbortSignal,
  ): Promise<Answer> {
    const key = urlKey(caller.userId, caller.epoch, operation.path, rawQuery)
    const found = await kv.cache.get(key)
    if (found.kind === 'hit') return { ...found.answer, cache: 'HIT' }
    const away = found.kind === 'away'
    try {
      const computed = await flights.join(key, departure(), (shared) =>
        compute(key, caller, operation, rawQuery, shared),
      )
      return {
        body: computed.body,
        truncated: computed.truncated,
        cache: away || !computed.stored ? 'BYPASS' : 'MISS',
      }
    } catch (error) {
      throw new GateError(away ? 'BYPASS' : 'MISS', toTimely(error))
    }
  }

  return {
    limit: (caller, bucket) =>
      kv.windows.take(`key:${caller.bucketId}:${bucket}`, limits.buckets[bucket], windowMs),
    peek: (caller, bucket) =>
      kv.windows.peek(`key:${caller.bucketId}:${bucket}`, limits.buckets[bucket], windowMs),
    entitle(caller, operation) {
      if (!hasApiAccess(caller.plan, plans, clock.now())) throw apiError('plan_required')
      if (operation.access === 'brokerage' && !hasBrokerageAccess(caller.plan, plans)) {
        throw apiError('professional_required')
      }
    },
    async answer(caller, operation, rawQuery, departure) {
      if (operation.bucket !== 'heavy') return cached(caller, operation, rawQuery, departure)
      const lease = await takeLease(kv, caller, limits.concurrency)
      try {
        return await cached(caller, operation, rawQuery, departure)
      } finally {
        void lease.release()
      }
    },
  }
}

async function takeLease(kv: Kv, caller: Caller, limit: number): Promise<Lease> {
  const grant = await kv.leases.acquire(`key:${caller.bucketId}`, limit)
  if (grant.lease !== null) return grant.lease
  throw apiError('too_many_concurrent', {
    retryAfterSeconds: Math.max(1, Math.ceil(grant.retryMs / 1000)),
  })
}

/** A request whose time was over before the guard could say so (a store that hangs, a queue that is long). */
function toTimely(error: unknown): unknown {
  if (error instanceof ApiError) return error
  if (!(error instanceof DOMException) || error.name !== 'TimeoutError') return error
  return apiError('provider_unavailable', { retryAfterSeconds: 30, cause: error })
}

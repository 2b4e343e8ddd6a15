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
import type { CacheLookup, Kv, Maybe, WindowState } from '#store/kv-port.ts'
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
   * the caller leaves; it is asked for only where there is something to wait for. A cached answer of a memory near by
   * comes at once, without a promise. Throws GateError, or ApiError before the
   * cache.
   */
  answer(
    caller: Caller,
    operation: Operation,
    rawQuery: string,
    departure: () => AbortSignal,
  ): Maybe<Answer>
}

/** What `answer` was asked. */
interface Asked {
  readonly caller: Caller
  readonly operation: Operation
  readonly rawQuery: string
  readonly departure: () => AbortSignal
}

interface Computed {
  readonly body: Uint8Array
  readonly truncated: boolean
  readonly stored: boolean
}

export function makeGate(options: GateOptions): Gate {
  const { kv, clock, plans, limits } = options
  const urlKey = makeUrlKey()
  const names = makeNames()
  const flights = makeFlights<Computed>(limits.requestTimeoutMs)

  async function compute(key: string, asked: Asked, signal: AbortSignal): Promise<Computed> {
    const { caller, operation } = asked
    // With the "?" in front: URLSearchParams would take one away that belongs to the first name.
    const query = new URLSearchParams(`?${asked.rawQuery}`)
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

  async function fetch(key: string, request: Asked, away: boolean): Promise<Answer> {
    try {
      const computed = await flights.join(key, request.departure(), (shared) =>
        compute(key, request, shared),
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

  function settle(found: CacheLookup, key: string, request: Asked): Maybe<Answer> {
    if (found.kind !== 'hit') return fetch(key, request, found.kind === 'away')
    return { body: found.answer.body, truncated: found.answer.truncated, cache: 'HIT' }
  }

  function cached(request: Asked): Maybe<Answer> {
    const { caller, operation } = request
    const key = urlKey(caller.userId, caller.epoch, operation.path, request.rawQuery)
    const found = kv.cache.get(key)
    if (found instanceof Promise) return found.then((late) => settle(late, key, request))
    return settle(found, key, request)
  }

  return {
    limit: (caller, bucket) =>
      kv.windows.take(names(caller)[bucket], limits.buckets[bucket], windowMs),
    peek: (caller, bucket) =>
      kv.windows.peek(names(caller)[bucket], limits.buckets[bucket], windowMs),
    entitle(caller, operation) {
      if (!hasApiAccess(caller.plan, plans, clock.now())) throw apiError('plan_required')
      if (operation.access === 'brokerage' && !hasBrokerageAccess(caller.plan, plans)) {
        throw apiError('professional_required')
      }
    },
    answer(caller, operation, rawQuery, departure) {
      const request: Asked = { caller, operation, rawQuery, departure }
      if (operation.bucket !== 'heavy') return cached(request)
      const grant = kv.leases.acquire(names(caller).places, limits.concurrency)
      if (grant instanceof Promise) return grant.then((late) => holding(late, cached, request))
      return holding(grant, cached, request)
    },
  }
}

/** Names of a caller's windows and places, built once: they are asked for on every request. */
function makeNames(): (caller: Caller) => Readonly<Record<Bucket | 'places', string>> {
  const known = new WeakMap<Caller, Readonly<Record<Bucket | 'places', string>>>()
  return (caller) => {
    let names = known.get(caller)
    if (names === undefined) {
      const places = `key:${caller.bucketId}`
      const named = (bucket: Bucket) => `${places}:${bucket}`
      names = { places, cheap: named('cheap'), mid: named('mid'), heavy: named('heavy') }
      known.set(caller, names)
    }
    return names
  }
}

type Grant = Awaited<ReturnType<Kv['leases']['acquire']>>

/** Answers with a place held, and frees it however the answer ends; throws `too_many_concurrent` without one. */
function holding(
  grant: Grant,
  answer: (request: Asked) => Maybe<Answer>,
  request: Asked,
): Maybe<Answer> {
  const { lease } = grant
  if (lease === null) {
    throw apiError('too_many_concurrent', {
      retryAfterSeconds: Math.max(1, Math.ceil(grant.retryMs / 1000)),
    })
  }
  let answered: Maybe<Answer> | null = null
  try {
    answered = answer(request)
    return answered instanceof Promise ? answered.finally(() => void lease.release()) : answered
  } finally {
    if (!(answered instanceof Promise)) void lease.release()
  }
}

/** A request whose time was over before the guard could say so (a store that hangs, a queue that is long). */
function toTimely(error: unknown): unknown {
  if (error instanceof ApiError) return error
  if (!(error instanceof DOMException) || error.name !== 'TimeoutError') return error
  return apiError('provider_unavailable', { retryAfterSeconds: 30, cause: error })
}

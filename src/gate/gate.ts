/**
 * The steps between a door and a resource, in the order of reading R3: limit, entitle, lease, cache, resource. Doors
 * only translate; the rules are here, once, for REST and for agents.
 */
import type { Caller } from '#auth/caller.ts'
import { hasApiAccess, hasBrokerageAccess, type PlanSettings } from '#auth/plans.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import type { Bucket, Operation } from '#contract/operations.ts'
import type { Clock } from '#kernel/time.ts'
import type { Read } from '#resources/read.ts'
import type { CacheLookup, Kv, Maybe, WindowState } from '#store/ports/kv.ts'
import { type Flights, makeFlights } from './flight.ts'
import { windowMs } from './throttle.ts'
import { makeUrlKey } from './url-key.ts'

export type CacheResult = 'HIT' | 'MISS' | 'BYPASS'

export interface Answer {
  readonly body: Uint8Array
  readonly truncated: boolean
  readonly cache: CacheResult
}

/** An error after the cache was queried: it carries the value for `X-Cache` (reading R8). */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly cache: CacheResult
  constructor(cache: CacheResult, cause: unknown) {
    super('the request failed after the cache was queried', { cause })
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
  /** Parses every fresh reply with its schema; in tests and development a mismatch is an error. */
  readonly checkReplies: boolean
}

export interface Gate {
  /** Counts one request in the caller's window of this bucket. */
  limit(caller: Caller, bucket: Bucket): Maybe<WindowState>
  /** Reads the window without counting. */
  peek(caller: Caller, bucket: Bucket): Maybe<WindowState>
  /** Throws `plan_required` or `professional_required`. */
  entitle(caller: Caller, operation: Operation): void
  /**
   * Lease, cache, resource. `rawQuery` as received, without "?". `disconnectSignal` makes the signal that is aborted when the
   * caller disconnects; it is called only when the answer needs waiting. A hit in the in-process cache is returned
   * synchronously, without a promise. Throws GateError, or ApiError before the cache.
   */
  answer(
    caller: Caller,
    operation: Operation,
    rawQuery: string,
    disconnectSignal: () => AbortSignal,
  ): Maybe<Answer>
}

/** The arguments of `answer`. */
interface Asked {
  readonly caller: Caller
  readonly operation: Operation
  readonly rawQuery: string
  readonly disconnectSignal: () => AbortSignal
}

interface Computed {
  readonly body: Uint8Array
  readonly truncated: boolean
  readonly stored: boolean
}

/** Dependencies of the steps; the same for every request. */
interface Parts extends GateOptions {
  readonly urlKey: ReturnType<typeof makeUrlKey>
  readonly flights: Flights<Computed>
}

export function makeGate(options: GateOptions): Gate {
  const { kv, clock, plans, limits } = options
  const names = makeNames()
  const flights = makeFlights<Computed>(limits.requestTimeoutMs)
  const parts: Parts = { ...options, urlKey: makeUrlKey(), flights }
  const cached = (asked: Asked) => lookInCache(parts, asked)
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
    answer(caller, operation, rawQuery, disconnectSignal) {
      const asked: Asked = { caller, operation, rawQuery, disconnectSignal }
      if (operation.bucket !== 'heavy') return lookInCache(parts, asked)
      const grant = kv.leases.acquire(names(caller).places, limits.concurrency)
      if (grant instanceof Promise) return grant.then((late) => holding(late, cached, asked))
      return holding(grant, cached, asked)
    },
  }
}

function lookInCache(parts: Parts, asked: Asked): Maybe<Answer> {
  const { caller, operation } = asked
  const key = parts.urlKey(caller.userId, caller.epoch, operation.path, asked.rawQuery)
  const found = parts.kv.cache.get(key)
  if (found instanceof Promise) return found.then((late) => settle(parts, late, key, asked))
  return settle(parts, found, key, asked)
}

function settle(parts: Parts, found: CacheLookup, key: string, asked: Asked): Maybe<Answer> {
  if (found.kind !== 'hit') return fetch(parts, key, asked, found.kind === 'unavailable')
  return { body: found.answer.body, truncated: found.answer.truncated, cache: 'HIT' }
}

async function fetch(
  parts: Parts,
  key: string,
  asked: Asked,
  isUnavailable: boolean,
): Promise<Answer> {
  try {
    const computed = await parts.flights.join(key, asked.disconnectSignal(), (shared) =>
      compute(parts, key, asked, shared),
    )
    return {
      body: computed.body,
      truncated: computed.truncated,
      cache: isUnavailable || !computed.stored ? 'BYPASS' : 'MISS',
    }
  } catch (error) {
    throw new GateError(isUnavailable ? 'BYPASS' : 'MISS', toTimely(error))
  }
}

async function compute(
  parts: Parts,
  key: string,
  asked: Asked,
  signal: AbortSignal,
): Promise<Computed> {
  const { caller, operation } = asked
  // The "?" is added because URLSearchParams strips one, which could belong to the first name.
  const query = new URLSearchParams(`?${asked.rawQuery}`)
  const reading = await parts.read(operation.name, query, { caller, signal })
  if (parts.checkReplies) operation.reply.parse(reading.body)
  const { truncated } = reading
  const body = Buffer.from(JSON.stringify(reading.body))
  if (!reading.cacheable) return { body, truncated, stored: true }
  const answer = { body, truncated }
  // Reading R19: the data that an answer is made of may already be partly through its cache life.
  const lifeMs = Math.min(
    operation.cacheSeconds * 1000,
    (reading.staleAt ?? Number.POSITIVE_INFINITY) - parts.clock.now(),
  )
  if (lifeMs <= 0) return { ...answer, stored: true }
  return { ...answer, stored: await parts.kv.cache.set(key, answer, lifeMs, caller.userId) }
}

/** The window of a key or agent for one bucket. */
export function nameWindow(bucketId: string, bucket: Bucket): string {
  return `key:${bucketId}:${bucket}`
}

/** Names of a caller's windows and in-flight places, built once because every request needs them. */
function makeNames(): (caller: Caller) => Readonly<Record<Bucket | 'places', string>> {
  const known = new WeakMap<Caller, Readonly<Record<Bucket | 'places', string>>>()
  return (caller) => {
    let names = known.get(caller)
    if (names === undefined) {
      const { bucketId } = caller
      const places = `key:${bucketId}`
      const named = (bucket: Bucket) => nameWindow(bucketId, bucket)
      names = { places, cheap: named('cheap'), mid: named('mid'), heavy: named('heavy') }
      known.set(caller, names)
    }
    return names
  }
}

type Grant = Awaited<ReturnType<Kv['leases']['acquire']>>

/**
 * Runs with an in-flight place held and releases it however the answer ends; throws `too_many_concurrent` without one.
 */
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

/** Maps a request timeout that fired before the guard's own (a store that hangs, a long queue). */
function toTimely(error: unknown): unknown {
  if (error instanceof ApiError) return error
  if (!(error instanceof DOMException) || error.name !== 'TimeoutError') return error
  return apiError('provider_unavailable', { retryAfterSeconds: retryLaterSeconds, cause: error })
}

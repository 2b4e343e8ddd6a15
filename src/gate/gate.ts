/**
 * The steps between a door and a resource, in the order of reading R3: limit, entitle, lease, cache,
 * resource. Doors only translate; the rules are here, once, for REST and for agents.
 */
import type { Caller } from '#auth/caller.ts'
import { hasApiAccess, hasBrokerageAccess, type PlanSettings } from '#auth/plans.ts'
import { ApiError, apiError } from '#contract/errors.ts'
import { retryLaterSeconds } from '#contract/limits.ts'
import { type Access, type Bucket, listEvents, type Operation } from '#contract/operations.ts'
import type {
  AdmitRequest,
  Admitted,
  CachedAnswer,
  Kv,
  Maybe,
  Unsure,
  WindowKey,
  WindowState,
} from '#fast/port.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import type { Clock } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { Read } from '#resources/read.ts'
import type { ReadContext } from '#resources/read-context.ts'
import type { EventFollower } from '#webhooks/follow-events.ts'
import {
  type AskedFeed,
  type FeedAnswers,
  type FollowedStream,
  makeFeedAnswers,
} from './feed-answers.ts'
import { type Flights, makeFlights } from './flight.ts'
import { checkKeyScope } from './scope.ts'
import { windowMs } from './throttle.ts'
import { makeUrlKey } from './url-key.ts'

export type CacheResult = 'HIT' | 'MISS' | 'BYPASS'

export interface Answer extends CachedAnswer {
  readonly cache: CacheResult
  /** How long it waited for something to happen, which is no time of service. */
  readonly waitedMs?: number
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
  /** What people fetch instead of being sent it. */
  readonly events: Pick<EventFollower, 'begin'>
  /** Reads the rows of a key's caller again (`Identify.renew`). */
  readonly renew: (caller: Caller, edition: string | null) => Promise<Caller>
  readonly clock: Clock
  readonly plans: PlanSettings
  readonly limits: GateLimits
  /** Parses every fresh reply with its schema; in tests and development a mismatch is an error. */
  readonly checkReplies: boolean
}

/** A request of a known caller. */
export interface CallerRequest extends Pick<ReadContext, 'formerRange'> {
  readonly caller: Caller
  readonly operation: Operation
  /** As received, without "?"; unused where the request is refused. */
  readonly rawQuery: string
  /**
   * Why the door refuses the request once it is counted, if its plan does not (an agent's scope or
   * arguments).
   */
  readonly refusal: ApiError | null
  /**
   * Makes the signal that is aborted when the caller disconnects, or with a TimeoutError when its own time is
   * over; called only when the answer needs waiting.
   */
  readonly disconnectSignal: () => AbortSignal
}

/** How far a request came in fast state. */
export interface CheckedRequest {
  /** Known by rows that are current as far as fast state knows. */
  readonly caller: Caller
  readonly admitted: Exclude<Admitted, Unsure>
  /** Why its plan, its door or its key does not allow it. */
  readonly refusal: Error | null
}

export interface Gate {
  /** Reads the window without counting. */
  peek(caller: Caller, bucket: Bucket): Maybe<WindowState>
  /** `plan_required` where its plan has no access to the API; null: it has. */
  entitle(caller: Caller): ApiError | null
  /**
   * Steps 4 to 7 of reading R3 at once: the caller's window, the plan, what the door refuses, a place among
   * the requests in flight, the cache. `answer` must follow. A hit in the in-process cache is returned
   * synchronously, without a promise.
   */
  check(asked: CallerRequest): Maybe<CheckedRequest>
  /**
   * The answer of a checked whose window allowed the request: from the cache, or computed. Throws the refusal
   * as an ApiError, and what fails after the cache was queried as a GateError.
   */
  answer(asked: CallerRequest, checked: CheckedRequest): Maybe<Answer>
  /**
   * A stream of events for a checked request; `leave` must follow. Throws as `answer`, but no GateError.
   */
  follow(asked: CallerRequest, checked: CheckedRequest): Promise<FollowedStream>
  /** Another answer for a request that was counted: `check` and `answer` without its window. */
  answerAgain(asked: CallerRequest): Maybe<Answer>
}

interface Computed extends CachedAnswer {
  readonly stored: boolean
}

/** Dependencies of the steps; the same for every request. */
interface Parts extends GateOptions {
  readonly urlKey: ReturnType<typeof makeUrlKey>
  readonly names: ReturnType<typeof makeNames>
  readonly flights: Flights<Computed>
  readonly fetched: FeedAnswers
}

export function makeGate(options: GateOptions): Gate {
  const { kv, limits } = options
  const flights = makeFlights<Computed>(limits.requestTimeoutMs)
  const parts: Parts = {
    ...options,
    urlKey: makeUrlKey(),
    names: makeNames(limits),
    flights,
    fetched: makeFeedAnswers({ ...options, requestTimeoutMs: limits.requestTimeoutMs }),
  }
  return {
    peek(caller, bucket) {
      const { key, limit } = parts.names(caller)[bucket]
      return kv.windows.peek(key, limit, windowMs)
    },
    entitle: (caller) => judgePlan(parts, caller, 'api'),
    check(asked) {
      const window = parts.names(asked.caller)[asked.operation.bucket]
      return check(parts, asked, window)
    },
    answer: (asked, checked) => answer(parts, asked, checked),
    async follow(asked, { admitted, caller, refusal }) {
      if (refusal !== null) throw refusal
      if (admitted.kind === 'refused') throw new Error('a refused request follows nothing')
      return parts.fetched.follow(toAskedFeed(parts, { ...asked, caller }))
    },
    answerAgain(asked) {
      const checking = check(parts, asked, null)
      if (checking instanceof Promise) return checking.then((late) => answer(parts, asked, late))
      return answer(parts, asked, checking)
    },
  }
}

function judgePlan({ plans, clock }: Parts, { plan }: Caller, access: Access): ApiError | null {
  if (!hasApiAccess(plan, plans, clock.now())) return apiError('plan_required')
  const isAllowed = access !== 'brokerage' || hasBrokerageAccess(plan, plans)
  return isAllowed ? null : apiError('professional_required')
}

/** The plan is judged before the scope (reading R28). */
function judge(parts: Parts, caller: Caller, operation: Operation): ApiError | null {
  return judgePlan(parts, caller, operation.access) ?? checkKeyScope(caller, operation)
}

/**
 * A request that is not allowed is counted, and reaches neither places nor cache. `isAgain`: its rows were
 * read again since its first step.
 */
function check(
  parts: Parts,
  asked: CallerRequest,
  window: AdmitRequest['window'],
  isAgain = false,
): Maybe<CheckedRequest> {
  const { caller, operation, rawQuery } = asked
  const { userId, edition } = caller
  const refusal = judge(parts, caller, operation) ?? asked.refusal
  const isCached = refusal === null && operation.cacheSeconds > 0
  const admitting = parts.kv.admit({
    window,
    places: operation.bucket === 'heavy' ? parts.names(caller).places : null,
    answer: isCached ? parts.urlKey(caller, operation.path, rawQuery) : null,
    owner: userId,
    edition,
  })
  const toChecked = (admitted: Admitted): Maybe<CheckedRequest> => {
    if (admitted.kind !== 'unsure') return { caller, admitted, refusal }
    return checkAgain(parts, asked, isAgain ? { ...admitted, edition: null } : admitted)
  }
  return admitting instanceof Promise ? admitting.then(toChecked) : toChecked(admitting)
}

/**
 * The rows that the caller is known by may be outdated: they are read again, and the step is repeated without
 * counting. When they change once more meanwhile, they are read for this request alone, so that the third
 * step is the last one.
 */
async function checkAgain(
  parts: Parts,
  asked: CallerRequest,
  { window, edition }: Extract<Admitted, Unsure>,
): Promise<CheckedRequest> {
  let caller: Caller
  try {
    caller = await parts.renew(asked.caller, edition)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { caller: asked.caller, admitted: { kind: 'counted', window }, refusal: error }
  }
  const checked = await check(parts, { ...asked, caller }, null, true)
  const { admitted } = checked
  return admitted.kind === 'refused' ? checked : { ...checked, admitted: { ...admitted, window } }
}

function answer(
  parts: Parts,
  asked: CallerRequest,
  { caller, admitted, refusal }: CheckedRequest,
): Maybe<Answer> {
  switch (admitted.kind) {
    case 'hit':
      return toAnswer(admitted.answer, 'HIT')
    case 'miss':
    case 'unavailable':
      return fetchHolding(parts, { ...asked, caller }, admitted)
    case 'full':
      throw apiError('too_many_concurrent', { retryAfterSeconds: toRetrySeconds(admitted.retryMs) })
    case 'counted':
      if (refusal !== null) throw refusal
      return answerEvents(parts, { ...asked, caller })
    case 'refused':
      throw new Error('a request that its window refused has no answer')
    default:
      return unreachable(admitted)
  }
}

/** The cache was not asked. */
async function answerEvents(parts: Parts, asked: CallerRequest): Promise<Answer> {
  const { name } = asked.operation
  if (name !== listEvents.name) throw new Error(`${name} is always asked of the cache`)
  try {
    const answered = await parts.fetched.answer(toAskedFeed(parts, asked), asked.disconnectSignal())
    return { ...answered, truncated: false, cache: 'BYPASS' }
  } catch (error) {
    throw toTimely(error)
  }
}

function toAskedFeed(parts: Parts, asked: CallerRequest): AskedFeed {
  const { caller, rawQuery } = asked
  return { caller, rawQuery, recheck: () => recheck(parts, asked) }
}

/** By rows that are at most a second old, like every request (reading R27). */
async function recheck(parts: Parts, { caller, operation }: CallerRequest): Promise<void> {
  const renewed = await parts.renew(caller, caller.edition ?? null)
  const refusal = judge(parts, renewed, operation)
  if (refusal !== null) throw refusal
}

function toAnswer({ body, truncated, asOf }: CachedAnswer, cache: CacheResult): Answer {
  const answer = { body, truncated, cache }
  return asOf === undefined ? answer : { ...answer, asOf }
}

/** Releases the place however the answer ends. */
async function fetchHolding(
  parts: Parts,
  asked: CallerRequest,
  { kind, lease }: Extract<Admitted, { kind: 'miss' | 'unavailable' }>,
): Promise<Answer> {
  const isUnavailable = kind === 'unavailable'
  try {
    const caller = isUnavailable ? await renewUndoubted(parts, asked) : asked.caller
    const key = parts.urlKey(caller, asked.operation.path, asked.rawQuery)
    return await fetch(parts, key, { ...asked, caller }, isUnavailable)
  } finally {
    void lease?.release()
  }
}

/** Fast state could not say whether the caller's rows are current. */
async function renewUndoubted(parts: Parts, { caller, operation }: CallerRequest): Promise<Caller> {
  if (caller.edition === undefined) return caller
  const renewed = await parts.renew(caller, null)
  const refusal = judge(parts, renewed, operation)
  if (refusal !== null) throw refusal
  return renewed
}

async function fetch(
  parts: Parts,
  key: string,
  asked: CallerRequest,
  isUnavailable: boolean,
): Promise<Answer> {
  try {
    // A request that continues a walk of the day before shares no flight with one that does not.
    const flight = asked.formerRange === undefined ? key : `${key} over midnight`
    const computed = await parts.flights.join(flight, asked.disconnectSignal(), (shared) =>
      compute(parts, key, asked, shared),
    )
    return toAnswer(computed, isUnavailable || !computed.stored ? 'BYPASS' : 'MISS')
  } catch (error) {
    throw new GateError(isUnavailable ? 'BYPASS' : 'MISS', toTimely(error))
  }
}

async function compute(
  parts: Parts,
  key: string,
  asked: CallerRequest,
  signal: AbortSignal,
): Promise<Computed> {
  const { caller, operation, formerRange } = asked
  // The "?" is added because URLSearchParams strips one, which could belong to the first name.
  const query = new URLSearchParams(`?${asked.rawQuery}`)
  if (operation.name === listEvents.name) throw new Error('events are read in another way')
  const reading = await parts.read(operation.name, query, { caller, signal, formerRange })
  if (parts.checkReplies) operation.reply.parse(reading.body)
  const { truncated, asOf } = reading
  const whole = { body: Buffer.from(JSON.stringify(reading.body)), truncated }
  const answer = asOf === undefined ? whole : { ...whole, asOf }
  if (!reading.cacheable) return { ...answer, stored: true }
  // Reading R19: the data that an answer is made of may already be partly through its cache life.
  const lifeMs = Math.min(
    operation.cacheSeconds * 1000,
    (reading.staleAt ?? Number.POSITIVE_INFINITY) - parts.clock.now(),
  )
  if (lifeMs <= 0) return { ...answer, stored: true }
  return { ...answer, stored: await parts.kv.cache.set(key, answer, lifeMs, caller.userId) }
}

/** The window of a user's key or agent for one bucket. */
export function nameWindow(userId: string, bucketId: string, bucket: Bucket): WindowKey {
  return `key:{${userId}}:${bucketId}:${bucket}`
}

type Names = Readonly<Record<Bucket, NonNullable<AdmitRequest['window']>>> &
  Pick<AdmitRequest, 'places'>

/** A caller's windows and places with their limits, built once because every request needs them. */
function makeNames({ buckets, concurrency }: GateLimits): (caller: Caller) => Names {
  const known = new WeakMap<Caller, Names>()
  return (caller) => {
    let names = known.get(caller)
    if (names === undefined) {
      const { userId, bucketId } = caller
      const windowOf = (bucket: Bucket) => ({
        key: nameWindow(userId, bucketId, bucket),
        limit: buckets[bucket],
        windowMs,
      })
      const places = { key: `key:{${userId}}:${bucketId}`, limit: concurrency }
      names = {
        places: concurrency === 0 ? null : places,
        cheap: windowOf('cheap'),
        mid: windowOf('mid'),
        heavy: windowOf('heavy'),
      }
      known.set(caller, names)
    }
    return names
  }
}

/** Maps a caller's timeout, or one that fired before the guard's own (a store that hangs, a long queue). */
function toTimely(error: unknown): unknown {
  if (error instanceof ApiError) return error
  if (!(error instanceof DOMException) || error.name !== 'TimeoutError') return error
  return apiError('provider_unavailable', { retryAfterSeconds: retryLaterSeconds, cause: error })
}

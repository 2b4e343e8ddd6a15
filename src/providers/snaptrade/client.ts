/**
 * SnapTrade over HTTP: every request throttled, signed and bounded, every body parsed. User id and secret are in the
 * query, so no URL leaves this file: routes are templates, and messages are cleaned.
 */
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream, type Upstream, type UpstreamResponse } from '../upstream.ts'
import { decode, parseJson } from './body.ts'
import { fail, toFailure } from './failures.ts'
import { makeSigner, toQuery, toSegment } from './signature.ts'

/** The budget of the whole application, consulted before every call. */
export type Throttle = (
  call: CallContext,
) => Promise<{ allowed: true } | { allowed: false; retryAfterSeconds: number }>

export interface SnapTradeOptions {
  readonly baseUrl: string
  readonly clientId: string
  readonly consumerKey: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  readonly throttle: Throttle
}

/** The person on whose behalf a call is made. */
export interface User {
  readonly userId: string
  readonly userSecret: string
}

export interface ClientRequest {
  readonly method?: 'GET' | 'DELETE'
  /**
   * A template with at most one `{id}`, e.g. `/accounts/{id}/activities`; also the route in
   * metrics.
   */
  readonly route: string
  readonly id?: string
  readonly query?: readonly (readonly [string, string])[]
}

export interface SnapTradeClient {
  /** The bytes of a 2xx answer; anything else is thrown as UpstreamError by the table of `failures.ts`. */
  fetch(request: ClientRequest, user: User, call: CallContext): Promise<Uint8Array>
  /** A small body, validated by its schema. */
  fetchParsed<Value>(
    schema: z.ZodType<Value>,
    request: ClientRequest,
    user: User,
    call: CallContext,
  ): Promise<Value>
  /** Checks that SnapTrade is reachable and accepts our signature, and reads its clock. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** `GET /`: unsigned, meant for checking timestamps (docs/providers/snaptrade.md, Signature). */
const Status = z.object({ timestamp: z.string() })
/** What our client id may do: the cheapest signed call without a user. */
const partnerRequest: ClientRequest = { route: '/snapTrade/partners' }

export function makeClient(options: SnapTradeOptions): SnapTradeClient {
  const { baseUrl, timeoutMs, report, clock } = options
  const upstream = makeUpstream({ provider: 'snaptrade', baseUrl, timeoutMs, report })
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const sign = makeSigner(options.consumerKey)

  async function ask(request: ClientRequest, user: User | null, call: CallContext) {
    await passThrottle(options.throttle, call)
    const query = toQuery([
      ['clientId', options.clientId],
      ['timestamp', String(Math.floor(clock.now() / 1000))],
      ...(user === null ? [] : ([['userId', user.userId]] as const)),
      ...(user === null ? [] : ([['userSecret', user.userSecret]] as const)),
      ...(request.query ?? []),
    ])
    const path = request.route.replace('{id}', () => toSegment(request.id ?? ''))
    return exchange(upstream, request, call, {
      target: `${path}?${query}`,
      signature: sign({ path: prefix + path, query }),
    })
  }

  /** Reading R20a: the operator is alerted to what the caller cannot fix, including a 425. */
  function alertOf(request: ClientRequest, status: number, failure: UpstreamFailure): void {
    if (failure.kind !== 'misconfigured' && failure.kind !== 'preparing') return
    report.alert({
      provider: 'snaptrade',
      detail: `${request.route}: ${status}: ${failure.detail}`,
    })
  }

  async function fetch(request: ClientRequest, user: User, call: CallContext) {
    const response = await ask(request, user, call)
    // A deletion is documented as 200 and as queued, so 202 and 204 count as success too.
    if (response.status >= 200 && response.status <= 299) return response.body
    const secrets = [user.userSecret, user.userId, options.consumerKey]
    const failure = toFailure(response, { nowMs: clock.now(), secrets })
    alertOf(request, response.status, failure)
    throw fail(failure)
  }

  async function probe(call: CallContext): Promise<ProbeReply> {
    await passThrottle(options.throttle, call)
    const status = await upstream.send({ method: 'GET', route: '/', target: '/' }, call)
    const theirTimeMs = readTime(status)
    const context = { nowMs: clock.now(), secrets: [options.consumerKey] }
    if (status.status !== 200) return { theirTimeMs, failure: toFailure(status, context) }
    const response = await ask(partnerRequest, null, call)
    if (response.status === 200) return { theirTimeMs, failure: null }
    const failure = toOurFault(toFailure(response, context))
    alertOf(partnerRequest, response.status, failure)
    return { theirTimeMs, failure }
  }

  return {
    fetch,
    async fetchParsed(schema, request, user, call) {
      const body = await fetch(request, user, call)
      const parsed = schema.safeParse(parseJson(decode(body)))
      if (parsed.success) return parsed.data
      const issue = parsed.error.issues[0]
      throw fail({
        kind: 'malformed',
        detail: `${request.route}: ${issue?.path.join('.')}: ${issue?.message}`,
      })
    },
    probe,
    close: () => upstream.close(),
  }
}

/** The time in the status body, to the millisecond where it has it; otherwise the answer's `Date` header. */
function readTime(response: UpstreamResponse): number | null {
  try {
    const parsed = Status.safeParse(parseJson(decode(response.body)))
    const at = parsed.success ? Date.parse(parsed.data.timestamp) : Number.NaN
    if (!Number.isNaN(at)) return at
  } catch (error) {
    // The page of an intermediary is not a status, so only its `Date` header is used.
    if (!(error instanceof UpstreamError)) throw error
  }
  return readServerTime(response.headers)
}

/** The request named no user, so a refusal can only concern our app. */
function toOurFault(failure: UpstreamFailure): UpstreamFailure {
  const isOurs = failure.kind === 'rejected' && [401, 403].includes(failure.status)
  return isOurs ? { ...failure, kind: 'misconfigured' } : failure
}

function exchange(
  upstream: Upstream,
  request: ClientRequest,
  call: CallContext,
  signed: { readonly target: string; readonly signature: string },
) {
  return upstream.send(
    {
      method: request.method ?? 'GET',
      route: request.route,
      target: signed.target,
      headers: { signature: signed.signature },
    },
    call,
  )
}

async function passThrottle(throttle: Throttle, call: CallContext): Promise<void> {
  call.signal.throwIfAborted()
  const verdict = await throttle(call)
  if (verdict.allowed) return
  const detail = 'our own budget of SnapTrade requests is used up'
  throw fail({ kind: 'throttled', retryAfterSeconds: verdict.retryAfterSeconds, detail })
}

/**
 * SnapTrade over HTTP: every request throttled, signed and bounded, every body parsed. User id
 * and secret stand in the query, so no URL leaves this file: routes are templates, sentences are
 * cleaned.
 */
import type { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import type { CallContext, UpstreamReport } from '../port.ts'
import { makeUpstream, type Upstream } from '../upstream.ts'
import { decode, parseJson } from './body.ts'
import { fail, toFailure } from './failures.ts'
import { makeSigner, toQuery, toSegment } from './signature.ts'

/** The budget of the whole application: asked before every call. */
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
  /**
   * The bytes of a 200; everything else is thrown as UpstreamError by the table of `failures.ts`.
   */
  fetch(request: ClientRequest, user: User, call: CallContext): Promise<Uint8Array>
  /** A small body, checked by its schema. */
  fetchParsed<Value>(
    schema: z.ZodType<Value>,
    request: ClientRequest,
    user: User,
    call: CallContext,
  ): Promise<Value>
  close(): Promise<void>
}

export function makeClient(options: SnapTradeOptions): SnapTradeClient {
  const { baseUrl, timeoutMs, report, clock } = options
  const upstream = makeUpstream({ provider: 'snaptrade', baseUrl, timeoutMs, report })
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const sign = makeSigner(options.consumerKey)

  async function fetch(request: ClientRequest, user: User, call: CallContext) {
    await passThrottle(options.throttle, call)
    const query = toQuery([
      ['clientId', options.clientId],
      ['timestamp', String(Math.floor(clock.now() / 1000))],
      ['userId', user.userId],
      ['userSecret', user.userSecret],
      ...(request.query ?? []),
    ])
    const path = request.route.replace('{id}', () => toSegment(request.id ?? ''))
    const response = await exchange(upstream, request, call, {
      target: `${path}?${query}`,
      signature: sign({ path: prefix + path, query }),
    })
    if (response.status === 200) return response.body
    const failure = toFailure(response, [user.userSecret, user.userId, options.consumerKey])
    if (failure.kind === 'misconfigured') {
      const detail = `${request.route}: ${failure.status}: ${failure.detail}`
      report.alert({ provider: 'snaptrade', detail })
    }
    throw fail(failure)
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
    close: () => upstream.close(),
  }
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

/**
 * The single access token of this process: requested when needed, shared by all users, renewed a minute
 * before it expires. Concurrent callers share one request; a caller that aborts does not abort the request.
 */
import { z } from 'zod'
import { type Clock, dayMs, minuteMs } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import type { Upstream, UpstreamResponse } from '../upstream.ts'
import { malformed, toRefusal } from './failures.ts'
import { readJson } from './lists.ts'

export interface TokenSource {
  /** A token that is valid for at least a minute. Throws UpstreamError, or the signal's reason. */
  get(call: CallContext): Promise<string>
  /** Discards a refused token, unless a newer one has replaced it. */
  drop(token: string): void
  /** Requests one more token, which is not kept, to check our credentials. */
  probe(call: CallContext): Promise<ProbeReply>
}

export interface TokenOptions {
  readonly upstream: Upstream
  readonly clientId: string
  readonly clientSecret: string
  readonly version: string
  readonly clock: Clock
  readonly report: UpstreamReport
}

/** Fifteen minutes by the documentation; the reply's own value applies. */
const Token = z.object({ token: z.string().min(1), expires_in: z.number().positive().default(900) })

const marginMs = minuteMs
const longestLifeMs = dayMs

export function makeTokenSource(options: TokenOptions): TokenSource {
  const { upstream, clock } = options
  let held: { readonly token: string; readonly renewAtMs: number } | null = null
  let minting: Promise<string> | null = null

  function ask(call: CallContext): Promise<UpstreamResponse> {
    return upstream.send(
      {
        method: 'POST',
        route: '/v1/token',
        target: '/v1/token',
        headers: { 'x-fiskil-version': options.version },
        json: { client_id: options.clientId, client_secret: options.clientSecret },
      },
      call,
    )
  }

  function read(response: UpstreamResponse): z.infer<typeof Token> {
    if (response.status < 200 || response.status > 299) {
      const secrets = [options.clientSecret]
      throw toOurFault(toRefusal(response, { nowMs: clock.now(), secrets }), options.report)
    }
    const parsed = Token.safeParse(readJson(response.body))
    if (!parsed.success) throw malformed('the token reply is not in the documented form')
    return parsed.data
  }

  async function mint(): Promise<string> {
    // No caller's signal, because the request is shared; the upstream's time limit bounds it.
    const call: CallContext = { signal: new AbortController().signal, priority: 'user' }
    const { token, expires_in } = read(await ask(call))
    const lifeMs = Math.min(expires_in * 1000, longestLifeMs)
    held = { token, renewAtMs: clock.now() + lifeMs - Math.min(marginMs, lifeMs / 2) }
    return token
  }

  return {
    async get(call) {
      call.signal.throwIfAborted()
      if (held !== null && clock.now() < held.renewAtMs) return held.token
      minting ??= mint().finally(() => {
        minting = null
      })
      return waitFor(minting, call.signal)
    },
    drop(token) {
      if (held?.token === token) held = null
    },
    async probe(call) {
      const response = await ask(call)
      const theirTimeMs = readServerTime(response.headers)
      try {
        read(response)
        return { theirTimeMs, failure: null }
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        return { theirTimeMs, failure: error.failure }
      }
    },
  }
}

/** Any 4xx on the token request refuses our own credentials, which the caller cannot fix (R20a). */
function toOurFault(error: UpstreamError, report: UpstreamReport): UpstreamError {
  const { failure } = error
  if (failure.kind !== 'rejected' && failure.kind !== 'misconfigured') return error
  const detail =
    failure.status === 404
      ? 'it has no /v1/token; FISKIL_BASE_URL is given without /v1'
      : `our client credentials were refused: ${failure.detail}`
  report.alert({ provider: 'fiskil', detail })
  return new UpstreamError(
    'fiskil',
    { kind: 'misconfigured', status: failure.status, detail },
    error.cause,
  )
}

/** Waits for a shared promise until this caller's signal aborts; the promise itself continues. */
function waitFor<Value>(shared: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}

/**
 * Up's HTTP: reads only, each with a person's token and counted in the hour of that token. It returns bodies
 * as bytes; `lists.ts` and `consent.ts` parse them. Tokens never appear in a route, a detail or a log.
 */
import { hash } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import type { Budget } from '../budget.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, CallsLeft, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream } from '../upstream.ts'
import { readMessage, toFailure } from './failures.ts'

export interface UpOptions {
  /** Includes the version, e.g. `https://api.up.com.au/api/v1`. */
  readonly baseUrl: string
  /** Bounds one provider call as a whole. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call, for each token separately. */
  readonly throttle: Budget
}

export interface UpRequest {
  /** For metrics: a template without ids and query. */
  readonly route: string
  /** The path below the base URL, with its query. */
  readonly target: string
  /** The path names one account, so a 404 is about it. */
  readonly isOnAccount?: true
}

export interface UpClient {
  get(token: string, request: UpRequest, call: CallContext): Promise<Uint8Array>
  callsLeft(token: string): Promise<CallsLeft | null>
  /** Checks that Up is reachable: asked without a token it refuses in its own form. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

const pingPath = '/util/ping'
export const pingRequest: UpRequest = { route: pingPath, target: pingPath }

/** Opens the pool. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: UpOptions): UpClient {
  const { baseUrl, timeoutMs, clock, report, throttle } = options
  const upstream = makeUpstream({ provider: 'up', baseUrl, timeoutMs, report })

  async function pass(token: string, call: CallContext): Promise<void> {
    call.signal.throwIfAborted()
    const verdict = await throttle(call, nameToken(token))
    if (verdict.allowed) return
    const { retryAfterSeconds } = verdict
    const whose =
      call.priority === 'user' ? 'this token’s' : 'background work’s share of this token’s'
    const minutes = Math.ceil(retryAfterSeconds / 60)
    const detail = `${whose} requests of this hour are used up; the next hour begins in ${minutes} min`
    const isOwnBudget = true
    throw new UpstreamError('up', { kind: 'throttled', retryAfterSeconds, detail, isOwnBudget })
  }

  return {
    async get(token, request, call) {
      await pass(token, call)
      const { route, target, isOnAccount = false } = request
      const headers = { authorization: `Bearer ${token}` }
      const response = await upstream.send({ method: 'GET', route, target, headers }, call)
      if (response.status >= 200 && response.status < 300) return response.body
      const isPing = route === pingPath
      const context = { nowMs: clock.now(), secrets: listForms(token), isOnAccount, isPing }
      const failure = toFailure(response, context)
      if (failure.kind === 'misconfigured') {
        report.alert({ provider: 'up', detail: `${route}: ${failure.detail}` })
      }
      throw new UpstreamError('up', failure)
    },
    callsLeft: async (token) => (await throttle.peek?.(nameToken(token))) ?? null,
    async probe(call) {
      const response = await upstream.send({ method: 'GET', ...pingRequest }, call)
      const theirTimeMs = readServerTime(response.headers)
      if (response.status === 401 && readMessage(response.body) !== null) {
        return { theirTimeMs, failure: null }
      }
      if (response.status < 300 || response.status === 401) {
        const detail = 'a request without a token is not refused as Up refuses it'
        return { theirTimeMs, failure: { kind: 'malformed', detail } }
      }
      const context = { nowMs: clock.now(), secrets: [], isOnAccount: false, isPing: true }
      return { theirTimeMs, failure: toFailure(response, context) }
    },
    close: () => upstream.close(),
  }
}

/** What of a token may stand in a message: the whole, as a URL has it, and the part after its prefix. */
function listForms(token: string): readonly string[] {
  return [token, encodeURIComponent(token), token.slice(token.lastIndexOf(':') + 1)]
}

/** Names a token in the keys of fast state, from which it cannot be recovered. */
function nameToken(token: string): string {
  return hash('sha256', token).slice(0, 32)
}

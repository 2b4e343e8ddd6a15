/**
 * SnapTrade over HTTP: every request throttled, signed and bounded, every body parsed. User id and secret are
 * in the query, so no URL leaves this file: routes are templates, and messages are cleaned.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import type { Budget } from '../budget.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, CallsLeft, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream, type UpstreamResponse } from '../upstream.ts'
import { decode, parseJson } from './body.ts'
import { type Blame, fail, toFailure } from './failures.ts'
import type { Asker, OwnKey } from './keys.ts'
import { makeSigner, toQuery, toSegment } from './signature.ts'

export interface SnapTradeOptions {
  readonly baseUrl: string
  /** The key of this installation; null: people bring their own keys. */
  readonly clientId: string | null
  readonly consumerKey: string | null
  /** The kind of that key. */
  readonly keyKind: OwnKey['kind']
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call; each personal key has a budget of its own. */
  readonly throttle: Budget
  /** Consulted before every call about one account under a personal key. */
  readonly accountThrottle: Budget
}

export interface ClientRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  /**
   * A template with at most one `{id}`, e.g. `/accounts/{id}/activities`; also the route in
   * metrics.
   */
  readonly route: string
  readonly id?: string
  readonly query?: readonly (readonly [string, string])[]
  /** Sent as JSON, and part of the signature. ASCII alone: how other text is signed is not documented. */
  readonly json?: Readonly<Record<string, string | boolean>>
}

export interface SnapTradeClient {
  /** The bytes of a 2xx answer; anything else is thrown as UpstreamError by the table of `failures.ts`. */
  fetch(request: ClientRequest, asker: Asker, call: CallContext): Promise<Uint8Array>
  /** A small body, validated by its schema. */
  fetchParsed<Value>(
    schema: z.ZodType<Value>,
    request: ClientRequest,
    asker: Asker,
    call: CallContext,
  ): Promise<Value>
  /** What is left of the budget that this asker uses. */
  callsLeft(asker: Asker): Promise<CallsLeft | null>
  /** The status alone, where a refusal is an answer too. */
  fetchStatus(request: ClientRequest, asker: Asker, call: CallContext): Promise<number>
  /** Asks without a key whether SnapTrade answers, and what time its clock shows. */
  askTime(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** `GET /`: unsigned, meant for checking timestamps (docs/providers/snaptrade.md, Signature). */
const Status = z.object({ timestamp: z.string() })
/** Calls about one account; under a personal key each account has a limit of its own. */
const accountRoute = '/accounts/{id}'

export function makeClient(options: SnapTradeOptions): SnapTradeClient {
  const { baseUrl, timeoutMs, report, clock } = options
  const upstream = makeUpstream({ provider: 'snaptrade', baseUrl, timeoutMs, report })
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '')

  async function ask(request: ClientRequest, asker: Asker, call: CallContext) {
    await passBudgets(options, request, asker, call)
    const { clientId, consumerKey } = asker.key
    const query = toQuery([
      ['clientId', clientId],
      ['timestamp', String(Math.floor(clock.now() / 1000))],
      ...toUserParameters(asker),
      ...(request.query ?? []),
    ])
    const path = request.route.replace('{id}', () => toSegment(request.id ?? ''))
    const { method = 'GET', route, json } = request
    const signature = makeSigner(consumerKey)({ content: json, path: prefix + path, query })
    const target = `${path}?${query}`
    return upstream.send({ method, route, target, headers: { signature }, json }, call)
  }

  /** Reading R20a: the operator is alerted to what the caller cannot fix, including a 425. */
  function alertOf(request: ClientRequest, status: number, failure: UpstreamFailure): void {
    if (failure.kind !== 'misconfigured' && failure.kind !== 'preparing') return
    report.alert({
      provider: 'snaptrade',
      detail: `${request.route}: ${status}: ${failure.detail}`,
    })
  }

  async function fetch(request: ClientRequest, asker: Asker, call: CallContext) {
    const response = await ask(request, asker, call)
    // A deletion is documented as 200 and as queued, so 202 and 204 count as success too.
    if (response.status >= 200 && response.status <= 299) return response.body
    const context = { nowMs: clock.now(), secrets: listSecrets(asker), blame: toBlame(asker) }
    const failure = nameElsewhere(request.route, toFailure(response, context))
    alertOf(request, response.status, failure)
    throw fail(failure)
  }

  return {
    fetch,
    async fetchParsed(schema, request, asker, call) {
      const body = await fetch(request, asker, call)
      const parsed = schema.safeParse(parseJson(decode(body)))
      if (parsed.success) return parsed.data
      const issue = parsed.error.issues[0]
      throw fail({
        kind: 'malformed',
        detail: `${request.route}: ${issue?.path.join('.')}: ${issue?.message}`,
      })
    },
    async callsLeft(asker) {
      const of = asker.kind === 'personal' ? nameBudget(asker.key.clientId) : undefined
      return (await options.throttle.peek?.(of)) ?? null
    },
    fetchStatus: async (request, asker, call) => (await ask(request, asker, call)).status,
    async askTime(call) {
      const response = await upstream.send({ method: 'GET', route: '/', target: '/' }, call)
      const theirTimeMs = readTime(response)
      if (response.status === 200) return { theirTimeMs, failure: null }
      const context = { nowMs: clock.now(), secrets: [], blame: 'user' } as const
      return { theirTimeMs, failure: nameElsewhere('/', toFailure(response, context)) }
    },
    close: () => upstream.close(),
  }
}

/** These paths hold no id: where they are not, all of SnapTrade is not. */
const namesNothing: readonly string[] = ['/', '/snapTrade/partners', '/authorizations']

function nameElsewhere(route: string, failure: UpstreamFailure): UpstreamFailure {
  const isElsewhere = failure.kind === 'rejected' && failure.status === 404
  if (!isElsewhere || !namesNothing.includes(route)) return failure
  const detail = `it has nothing at ${route}; SNAPTRADE_BASE_URL is https://api.snaptrade.com, without a path`
  return { ...failure, detail }
}

/** A personal key takes the place of the user: its requests have no user parameters, not even empty ones. */
function toUserParameters(asker: Asker): readonly (readonly [string, string])[] {
  if (asker.kind !== 'user') return []
  return [
    ['userId', asker.userId],
    ['userSecret', asker.userSecret],
  ]
}

function toBlame(asker: Asker): Blame {
  if (asker.kind === 'user') return 'user'
  return asker.kind === 'app' || asker.isOfVariables ? 'ours' : 'brought'
}

function listSecrets(asker: Asker): readonly string[] {
  const { consumerKey } = asker.key
  return asker.kind === 'user' ? [asker.userSecret, asker.userId, consumerKey] : [consumerKey]
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

/** The account first: a refused call about an account that is asked too often costs the key nothing. */
async function passBudgets(
  { throttle, accountThrottle }: SnapTradeOptions,
  { route, id = '' }: ClientRequest,
  asker: Asker,
  call: CallContext,
): Promise<void> {
  call.signal.throwIfAborted()
  if (asker.kind !== 'personal') return demand(await throttle(call), '')
  const { clientId } = asker.key
  if (route.startsWith(accountRoute)) {
    const verdict = await accountThrottle(call, nameBudget(`${clientId} ${id}`))
    demand(verdict, ' for this account')
  }
  demand(await throttle(call, nameBudget(clientId)), ' for this key')
}

function demand(verdict: Awaited<ReturnType<Budget>>, of: string): void {
  if (verdict.allowed) return
  const { retryAfterSeconds } = verdict
  const detail = `our own budget of SnapTrade requests${of} is used up`
  throw fail({ kind: 'throttled', retryAfterSeconds, detail, isOwnBudget: true })
}

/** Names a key or an account in the keys of fast state, from which it cannot be recovered. */
function nameBudget(text: string): string {
  return hash('sha256', text).slice(0, 32)
}

/**
 * SimpleFIN's HTTP: a claim, and reads of all accounts of an access URL or of one. The server is the login's
 * own, so every request passes the guard of outside addresses. Counted by the day of the access URL, and of
 * an account where one is asked for. Nothing of an access URL appears in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import type { Budget } from '../budget.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, CallsLeft, ProbeReply, UpstreamReport } from '../port.ts'
import type { Readings } from '../readings.ts'
import { readServerTime } from '../server-time.ts'
import { type GuardedUpstream, makeGuardedUpstream } from '../upstream.ts'
import { type AccessUrl, identifyAccess } from './access-url.ts'
import { demandOk, malformed, toFailure } from './failures.ts'

export interface SimplefinOptions {
  /** The server whose page makes setup tokens: `https://bridge.simplefin.org/simplefin` by default. */
  readonly baseUrl: string
  /** Servers on private addresses, and plain http, are allowed. */
  readonly allowPrivate: boolean
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call about all accounts, for each access URL separately. */
  readonly throttle: Budget
  /** Consulted before every call about one account. */
  readonly accountThrottle: Budget
  readonly readings: Readings
}

export interface AccountsRequest {
  /** Rows at this time or later, in whole seconds since the epoch. */
  readonly startSeconds: number
  /** Rows before this time; null: all that are newer. */
  readonly endSeconds: number | null
  /** Null: all accounts. */
  readonly accountId: string | null
}

export interface SimplefinClient {
  /** Once: a second claim of the same token is refused (reading R38). @returns the access URL. */
  claim(url: URL, call: CallContext): Promise<string>
  accounts(access: AccessUrl, request: AccountsRequest, call: CallContext): Promise<Uint8Array>
  /** The server warned of too many requests: nothing more is asked of it today. */
  stopForToday(access: AccessUrl, call: CallContext): Promise<void>
  callsLeft(access: AccessUrl): Promise<CallsLeft | null>
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** An answer about many accounts may take tens of seconds (docs/providers/simplefin.md, Limits). */
const patience = 6
const maxAccessUrlBytes = 4096

/** Opens the pools. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: SimplefinOptions): SimplefinClient {
  const { report, throttle, allowPrivate } = options
  const upstream = makeGuardedUpstream({
    provider: 'simplefin',
    timeoutMs: options.timeoutMs * patience,
    report,
    allowPrivate,
  })

  return {
    claim: (url, call) => claim(upstream, url, call),
    accounts: (access, request, call) =>
      readAccounts({ ...options, upstream }, access, request, call),
    async stopForToday(access, call) {
      const { calls = 0 } = (await throttle.peek?.(identifyAccess(access))) ?? {}
      const now = { signal: call.signal, priority: 'user' } as const
      for (let count = 0; count < calls; count += 1) await throttle(now, identifyAccess(access))
    },
    callsLeft: async (access) => (await throttle.peek?.(identifyAccess(access))) ?? null,
    probe: (call) => probe({ ...options, upstream }, call),
    close: () => upstream.close(),
  }
}

/** What a request needs. */
type Line = SimplefinOptions & { readonly upstream: GuardedUpstream }

async function claim(upstream: GuardedUpstream, url: URL, call: CallContext): Promise<string> {
  const request = {
    method: 'POST',
    route: '/claim/{token}',
    origin: url.origin,
    target: `${url.pathname}${url.search}`,
  } as const
  const response = await upstream.send(request, call).catch((error: unknown) => {
    throw isUnanswered(error) ? lostClaim(error) : error
  })
  if (response.status === 200 && response.body.length <= maxAccessUrlBytes) {
    return Buffer.from(response.body).toString('utf8').trim()
  }
  throw new UpstreamError('simplefin', toClaimFailure(response.status))
}

async function readAccounts(
  line: Line,
  access: AccessUrl,
  { startSeconds, endSeconds, accountId }: AccountsRequest,
  call: CallContext,
): Promise<Uint8Array> {
  await pass(line, access, accountId, call)
  const query = new URLSearchParams({
    version: '2',
    'start-date': String(startSeconds),
    // The one reading that everything shares has pending rows too (readings R36, R39).
    ...(endSeconds === null ? { pending: '1' } : { 'end-date': String(endSeconds) }),
    ...(accountId === null ? {} : { account: accountId }),
  })
  const basic = Buffer.from(`${access.user}:${access.password}`).toString('base64')
  const response = await line.upstream.send(
    {
      method: 'GET',
      route: accountId === null ? '/accounts' : '/accounts?account={id}',
      origin: access.origin,
      target: `${access.path}/accounts?${query}`,
      headers: { authorization: `Basic ${basic}` },
    },
    call,
  )
  return demandOk(response, line.clock.now())
}

async function pass(
  { throttle, accountThrottle }: Line,
  access: AccessUrl,
  accountId: string | null,
  call: CallContext,
): Promise<void> {
  call.signal.throwIfAborted()
  const own = identifyAccess(access)
  const counted =
    accountId === null
      ? await throttle(call, own)
      : await accountThrottle(call, identifyAccess({ ...access, user: `${own} ${accountId}` }))
  if (counted.allowed) return
  const { retryAfterSeconds } = counted
  const whose = call.priority === 'user' ? 'the' : 'background work’s share of the'
  const hours = Math.ceil(retryAfterSeconds / 3600)
  const detail = `${whose} requests of this day are used up; the next day begins in ${hours} h (UTC)`
  const isOwnBudget = true
  throw new UpstreamError('simplefin', {
    kind: 'throttled',
    retryAfterSeconds,
    detail,
    isOwnBudget,
  })
}

async function probe({ baseUrl, upstream, clock }: Line, call: CallContext): Promise<ProbeReply> {
  const { origin, pathname } = new URL(baseUrl)
  const target = `${pathname.replace(/\/+$/, '')}/info`
  const response = await upstream.send({ method: 'GET', route: '/info', origin, target }, call)
  const theirTimeMs = readServerTime(response.headers)
  if (response.status !== 200) return { theirTimeMs, failure: toFailure(response, clock.now()) }
  const isInfo = /"versions"\s*:/.test(Buffer.from(response.body).toString('latin1'))
  const { failure } = malformed('the answer to /info names no versions')
  return { theirTimeMs, failure: isInfo ? null : failure }
}

/** Whether the claim may have been made although no answer came. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true
  return error.failure.kind === 'unavailable' || error.failure.kind === 'malformed'
}

/** Reading R38: the claim is never repeated. */
function lostClaim(cause: unknown): UpstreamError {
  const detail =
    'the server’s answer to the setup token was lost, and a token works once; make a new setup token'
  return new UpstreamError(
    'simplefin',
    { kind: 'rejected', status: 400, detail, isPersonal: true },
    cause,
  )
}

function toClaimFailure(status: number) {
  const failure = { kind: 'rejected', status: 400, isPersonal: true } as const
  if (status === 403 || status === 404) {
    const detail =
      'this setup token was used before or is unknown; if you did not use it, disable it on the page of your SimpleFIN server, and make a new one'
    return { ...failure, detail }
  }
  if (status === 402)
    return { ...failure, detail: 'the subscription at the SimpleFIN server has ended' }
  const detail = `the server answered ${status} to the setup token; make a new one and try again`
  return { ...failure, detail }
}

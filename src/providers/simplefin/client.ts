/**
 * SimpleFIN's HTTP: a claim, and reads of all accounts of an access URL or of some. The server is the login's
 * own, so every request passes the guard of outside addresses. Counted by the day of the access URL, and of
 * each account where some are named. Nothing of an access URL appears in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import { type Budget, demandAllowed } from '../budget.ts'
import type { CallContext, CallsLeft, ProbeReply, UpstreamReport } from '../port.ts'
import type { Readings } from '../readings.ts'
import { readServerTime } from '../server-time.ts'
import { type GuardedUpstream, makeGuardedUpstream } from '../upstream.ts'
import { type AccessUrl, identifyAccess } from './access-url.ts'
import { type ClaimResult, sendClaim } from './claim.ts'
import { demandOk, malformed, toFailure } from './failures.ts'

export interface SimplefinOptions {
  /** The server whose page makes setup tokens: `https://bridge.simplefin.org/simplefin` by default. */
  readonly baseUrl: string
  /** Servers on private addresses, and plain http, are allowed. */
  readonly allowPrivate: boolean
  /** The address leads back to this service; absent: none does. */
  readonly isOurs?: (url: URL) => boolean
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call about all accounts, for each access URL separately. */
  readonly throttle: Budget
  /** Consulted before every call about named accounts, for each of them. */
  readonly accountThrottle: Budget
  readonly readings: Readings
}

export interface AccountsRequest {
  /** Rows at this time or later, in whole seconds since the epoch. */
  readonly startSeconds: number
  /** Rows before this time; null: all that are newer. */
  readonly endSeconds: number | null
  /** Empty: all accounts. */
  readonly accountIds: readonly string[]
}

export interface SimplefinClient {
  claim(url: URL, call: CallContext): Promise<ClaimResult>
  accounts(access: AccessUrl, request: AccountsRequest, call: CallContext): Promise<Uint8Array>
  /** The server warned of too many requests: nothing more is asked of it today. */
  stopForToday(access: AccessUrl, call: CallContext): Promise<void>
  callsLeft(access: AccessUrl): Promise<CallsLeft | null>
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** An answer about many accounts may take tens of seconds (docs/providers/simplefin.md, Limits). */
const timeoutFactor = 6

/** Opens the pools. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: SimplefinOptions): SimplefinClient {
  const { report, throttle, allowPrivate } = options
  const upstream = makeGuardedUpstream({
    provider: 'simplefin',
    timeoutMs: options.timeoutMs * timeoutFactor,
    report,
    allowPrivate,
  })

  return {
    claim: (url, call) => sendClaim(upstream, url, call),
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

type Parts = SimplefinOptions & { readonly upstream: GuardedUpstream }

async function readAccounts(
  parts: Parts,
  access: AccessUrl,
  { startSeconds, endSeconds, accountIds }: AccountsRequest,
  call: CallContext,
): Promise<Uint8Array> {
  await pass(parts, access, accountIds, call)
  const query = new URLSearchParams({
    version: '2',
    'start-date': String(startSeconds),
    // The one reading that everything shares has pending rows too (readings R36, R39).
    ...(endSeconds === null ? { pending: '1' } : { 'end-date': String(endSeconds) }),
  })
  for (const id of accountIds) query.append('account', id)
  const basic = Buffer.from(`${access.user}:${access.password}`).toString('base64')
  const response = await parts.upstream.send(
    {
      method: 'GET',
      route: accountIds.length === 0 ? '/accounts' : '/accounts?account={id}',
      origin: access.origin,
      target: `${access.path}/accounts?${query}`,
      headers: { authorization: `Basic ${basic}` },
      isCountedByDay: true,
    },
    call,
  )
  return demandOk(response, parts.clock.now())
}

async function pass(
  { throttle, accountThrottle }: Parts,
  access: AccessUrl,
  accountIds: readonly string[],
  call: CallContext,
): Promise<void> {
  call.signal.throwIfAborted()
  const own = identifyAccess(access)
  const whose = { provider: 'simplefin', priority: call.priority } as const
  if (accountIds.length === 0) return demandAllowed(await throttle(call, own), whose, tellUsedUp)
  for (const id of accountIds) {
    const name = identifyAccess({ ...access, user: `${own} ${id}` })
    demandAllowed(await accountThrottle(call, name), whose, tellUsedUp)
  }
}

const tellUsedUp = (whose: string, hours: number) =>
  `${whose} requests of this day are used up; the next day begins in ${hours} h (UTC)`

async function probe({ baseUrl, upstream, clock }: Parts, call: CallContext): Promise<ProbeReply> {
  const { origin, pathname } = new URL(baseUrl)
  const target = `${pathname.replace(/\/+$/, '')}/info`
  const response = await upstream.send({ method: 'GET', route: '/info', origin, target }, call)
  const theirTimeMs = readServerTime(response.headers)
  if (response.status !== 200) return { theirTimeMs, failure: toFailure(response, clock.now()) }
  const isInfo = /"versions"\s*:/.test(Buffer.from(response.body).toString('latin1'))
  const { failure } = malformed('the answer to /info names no versions')
  return { theirTimeMs, failure: isInfo ? null : failure }
}

/**
 * The SimpleFIN door: `/simplefin/info`, `/simplefin/claim/T` and `/simplefin/accounts`, for programs that
 * speak that protocol. It translates, and reads by the operations of REST. Its refusals are one line of plain
 * text, because clients take JSON of any status for data, and 403 for a link that has to be made again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimProgram } from '#auth/programs/claim-program.ts'
import { apiError } from '#contract/errors.ts'
import type { Lease, LeaseStore, WindowStore } from '#fast/port.ts'
import type { CacheResult, Gate } from '#gate/gate.ts'
import { guessPrefixLength, type IdentifyProgram, type Program } from '#gate/identify-program.ts'
import { guess, type Throttle, toVisitor } from '#gate/throttle.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import type { Clock } from '#kernel/time.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { SimplefinRecord } from '#telemetry/request-record.ts'
import {
  authorizationOf,
  ClientDisconnected,
  clientAddress,
  disconnectSignal,
  type IsTrustedProxy,
  requestIdOf,
} from '../client.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import { readBasic, readClaim, toAccessUrl, toRootUrl } from '../simplefin-access.ts'
import { makeAnswer } from './answer.ts'
import { readAccountsQuery } from './query.ts'
import { readAccounts } from './read-accounts.ts'
import { type Reply, refuseProgram, writeReply } from './reply.ts'
import { makeRowTexts, type ToRowTexts } from './row-texts.ts'
import { toDays } from './rows-window.ts'

export interface SimplefinOptions {
  readonly gate: Gate
  readonly identify: IdentifyProgram
  readonly claim: ClaimProgram
  readonly throttle: Throttle
  readonly store: Pick<StoreReader, 'accounts' | 'connections'>
  readonly windows: WindowStore
  readonly leases: LeaseStore
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /** Called late: with port 0 it is known once the listener is bound. */
  readonly baseUrl: () => string
  readonly requestTimeoutMs: number
  readonly observe: (record: SimplefinRecord) => void
}

export type SimplefinLane = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The pace of one program. A first import asks for hundreds of windows one after another and takes a refusal
 * for the end, so a request above the pace waits.
 */
const [requestsPerSecond, requestsAtOnce, windowMs, maxWaits] = [10, 2, 1000, 5]
/** Requests in flight of all programs of a person: one answer can have every row of seven years. */
const requestsOfPerson = 4

/** The request as far as it is known. */
interface Progress {
  readonly requestId: string
  readonly startedAt: number
  resource: SimplefinRecord['resource']
  program: Program | null
  cache: CacheResult
}

/** Dependencies of a request; the same for every one. */
interface Parts extends SimplefinOptions {
  readonly toRowTexts: ToRowTexts
}

export function makeSimplefinLane(options: SimplefinOptions): SimplefinLane {
  const parts: Parts = { ...options, toRowTexts: makeRowTexts() }
  return (request, response) => void serve(parts, request, response)
}

async function serve(
  options: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const progress: Progress = {
    requestId: requestIdOf(request),
    startedAt: performance.now(),
    resource: 'unknown',
    program: null,
    cache: 'BYPASS',
  }
  let status = 200
  let failure: unknown = null
  try {
    await answer(options, request, { response, progress })
  } catch (thrown) {
    const error =
      thrown instanceof ClientDisconnected ? apiError('client_disconnected') : toApiError(thrown)
    failure = thrown
    status = refuseProgram(response, progress.requestId, error)
  }
  const { requestId, resource, program, cache } = progress
  const durationMs = performance.now() - progress.startedAt
  options.observe({
    door: 'simplefin',
    requestId,
    resource,
    status,
    durationMs,
    programId: program?.id ?? null,
    caller: program?.caller ?? null,
    cache,
    error: failure,
  })
}

interface Asking {
  readonly response: ServerResponse
  readonly progress: Progress
}

async function answer(
  options: Parts,
  request: IncomingMessage,
  { response, progress }: Asking,
): Promise<void> {
  const [path = '', ...rest] = (request.url ?? '').split('?')
  const send = (type: Reply['type'], body: Reply['body']) =>
    writeReply(response, progress.requestId, { status: 200, type, body })
  // The listener writes no body for HEAD.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && path === '/simplefin/info') {
    progress.resource = 'info'
    send('application/json', '{"versions":["1","2"]}')
    return
  }
  const secret = request.method === 'POST' ? readClaim(path) : null
  if (secret !== null) {
    progress.resource = 'claim'
    send('text/plain', await claim(options, request, secret))
    return
  }
  if (!isRead || path !== '/simplefin/accounts') {
    // A claim path that cannot be one is answered as one that is spent.
    throw path.startsWith('/simplefin/claim/') ? forbidden() : apiError('not_found')
  }
  progress.resource = 'accounts'
  const address = clientAddress(request, options.isTrustedProxy)
  const program = await options.identify(address, readBasic(authorizationOf(request)))
  if (program === null) throw forbidden()
  progress.program = program
  const body = await readHeld(options, program, {
    params: new URLSearchParams(rest.join('?')),
    signal: disconnectSignal(response),
    onCache: (cache) => {
      progress.cache = cache
    },
  })
  send('application/json', body)
}

/** A wrong or spent token counts as a guess, and beyond the limit none is looked at. */
async function claim(
  { claim: spend, throttle, isTrustedProxy, baseUrl }: SimplefinOptions,
  request: IncomingMessage,
  secret: string,
): Promise<string> {
  const address = clientAddress(request, isTrustedProxy)
  const visitor = toVisitor(address, secret.slice(0, guessPrefixLength))
  const access = await guess(throttle, visitor, () =>
    spend({ actor: { kind: 'visitor', address } }, secret),
  )
  if (access === null) throw forbidden()
  return toAccessUrl(baseUrl(), access.user, access.password)
}

interface Wanted {
  readonly params: URLSearchParams
  readonly signal: AbortSignal
  readonly onCache: (cache: CacheResult) => void
}

/** Holds one of the program's places among the requests in flight, and one of its person's. */
async function readHeld(
  options: Parts,
  program: Program,
  wanted: Wanted,
): Promise<readonly Uint8Array[]> {
  const { windows, leases } = options
  const own = await takePlace(leases, program.id, requestsAtOnce)
  try {
    const shared = await takePlace(leases, program.caller.userId, requestsOfPerson)
    try {
      await waitForTurn(windows, program, wanted.signal)
      return await read(options, program, wanted)
    } finally {
      await shared.release()
    }
  } finally {
    await own.release()
  }
}

/** @throws ApiError `too_many_concurrent` */
async function takePlace(leases: LeaseStore, of: string, atOnce: number): Promise<Lease> {
  const held = await leases.acquire(`simplefin:${of}`, atOnce)
  if (held.lease !== null) return held.lease
  throw apiError('too_many_concurrent', { retryAfterSeconds: toRetrySeconds(held.retryMs) })
}

/** @throws ApiError `rate_limited` where other requests were first again and again. */
async function waitForTurn(
  windows: WindowStore,
  { id }: Program,
  signal: AbortSignal,
): Promise<void> {
  for (let waits = 0; ; waits += 1) {
    const window = await windows.take(`simplefin:${id}`, requestsPerSecond, windowMs)
    if (window.allowed) return
    if (waits === maxWaits) throw rateLimited(window)
    await sleep(Math.min(window.resetMs, windowMs) + 1, undefined, { signal }).catch(() => {
      throw signal.reason
    })
  }
}

async function read(
  { gate, store, clock, baseUrl, requestTimeoutMs, toRowTexts }: Parts,
  { caller, connections }: Program,
  { params, signal, onCache }: Wanted,
): Promise<readonly Uint8Array[]> {
  const query = readAccountsQuery(params)
  const { start, end, notes } = query
  const zone = caller.timezone
  const now = clock.now()
  const late = new AbortController()
  const timer = setTimeout(
    () => late.abort(new Error('the time for one answer is over')),
    requestTimeoutMs,
  )
  try {
    const reading = await readAccounts({
      gate,
      async listLost() {
        const rows = await store.connections.list(caller.userId)
        return new Set(rows.filter(({ status }) => status !== 'active').map(({ id }) => id))
      },
      async listKnown(id) {
        return (await store.accounts.listByConnection(caller.userId, id)).map((one) => one.id)
      },
      toRowTexts: (found, currencies) => toRowTexts(found, zone, currencies),
      caller,
      connections,
      accounts: query.accounts,
      days: query.withRows ? toDays({ start, end }, { zone, now }) : null,
      signal,
      late: late.signal,
    })
    onCache(reading.cache)
    const root = toRootUrl(baseUrl())
    return makeAnswer(reading, { root, now, start, end, notes })
  } finally {
    clearTimeout(timer)
  }
}

/** What every client takes for a token or a link that is no longer good. */
const forbidden = () => apiError('simplefin_forbidden')

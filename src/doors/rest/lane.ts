/**
 * The REST door: a lane of its own on node:http, in the order of the steps of reading R3. It translates HTTP
 * and calls the gate's steps; it contains no rule of an operation. Every answer is the envelope or the
 * operation's reply, with the headers of readings R6, R8 and R9.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Caller } from '#auth/caller.ts'
import { type ApiError, apiError } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import type { Maybe, WindowState } from '#fast/port.ts'
import type { Admit, UnidentifiedClient } from '#gate/admit.ts'
import {
  type Answer,
  type CacheResult,
  type CallerRequest,
  type CheckedRequest,
  type Gate,
  GateError,
} from '#gate/gate.ts'
import { noWindow, type Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import {
  ClientDisconnected,
  disconnectSignal,
  type IsTrustedProxy,
  makeClientReader,
  requestIdOf,
} from '../client.ts'
import { prefersPage, wantsStream } from '../preference.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import { blameHeader, readFirst, resumedQuery, writeEvents } from './event-stream.ts'
import { makeReplyWriter, type ReplyFacts, type ReplyWriter, type StaticPage } from './reply.ts'
import { makeRoutes } from './route.ts'
import { makeUnreadStreams, type UnreadStreams } from './unread-streams.ts'

export interface RestLaneOptions {
  readonly gate: Gate
  readonly throttle: Pick<Throttle, 'peek'>
  readonly admit: Admit
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /**
   * The address where deprecations are documented; called late, since it is known only after the server
   * listens.
   */
  readonly docsUrl: () => string
  /** The page for a browser on a path that no door owns, by its `Cookie` header. */
  readonly unknownPage: (cookies: string | undefined) => StaticPage
  readonly observe: (record: ReadRecord) => void
}

export type RestLane = (request: IncomingMessage, response: ServerResponse) => void

/** What is known of a request so far; its headers are written from this, however it ends. */
interface Progress extends ReplyFacts {
  readonly startedAt: number
  readonly operation: Operation | null
  readonly rawQuery: string
  window: WindowState
  cache: CacheResult
  caller: Caller | null
  /** How long the request waited for something to happen. */
  waitedMs: number
}

/** Dependencies of the lane; the same for every request. */
interface Lane extends RestLaneOptions {
  readonly routeOf: ReturnType<typeof makeRoutes>
  readonly clientOf: ReturnType<typeof makeClientReader>
  readonly writer: ReplyWriter
  readonly unread: UnreadStreams
}

export function makeRestLane(options: RestLaneOptions): RestLane {
  const lane: Lane = {
    ...options,
    routeOf: makeRoutes(),
    clientOf: makeClientReader(options.isTrustedProxy),
    writer: makeReplyWriter(options.clock, options.docsUrl),
    unread: makeUnreadStreams(),
  }
  return (request, response) => serve(lane, request, response)
}

/** A stream, which is written already. */
type Sent = 'sent'

/** A request and its answer, with what is known so far. */
interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly progress: Progress
}

// Only what has to wait is a promise: a cached answer is written in the same turn of the event loop in which
// its request arrived.
function serve(lane: Lane, request: IncomingMessage, response: ServerResponse): void {
  const { operation, rawQuery, deprecated } = lane.routeOf(request.method, request.url ?? '/')
  const progress: Progress = {
    requestId: requestIdOf(request),
    startedAt: performance.now(),
    operation,
    rawQuery,
    deprecated,
    window: noWindow,
    cache: 'BYPASS',
    caller: null,
    waitedMs: 0,
  }
  const call: Call = { request, response, progress }
  try {
    const answering = ask(lane, call)
    if (answering instanceof Promise) {
      answering
        .then((answer) => succeed(lane, call, answer))
        .catch((thrown: unknown) => fail(lane, call, thrown))
    } else {
      succeed(lane, call, answering)
    }
  } catch (thrown) {
    fail(lane, call, thrown)
  }
}

function ask(lane: Lane, call: Call): Maybe<Answer | Sent> {
  const { operation } = call.progress
  const client = lane.clientOf(call.request)

  // 1 Unknown path or method: the same answer with or without a key, at no cost.
  if (operation === null) return refuseUnknown(lane, call, client)

  // 2 The pre-auth limit, before any lookup of the key, and 3 authentication.
  const caller = lane.admit.recall(client)
  if (caller !== null) return askAs(lane, call, operation, caller)
  return identify(lane, call, client).then((found) => askAs(lane, call, operation, found))
}

async function refuseUnknown(
  lane: Lane,
  { progress }: Call,
  client: UnidentifiedClient,
): Promise<never> {
  progress.window = await lane.throttle.peek(client.visitor)
  throw apiError('not_found')
}

async function identify(
  lane: Lane,
  { progress }: Call,
  client: UnidentifiedClient,
): Promise<Caller> {
  const admission = await lane.admit.admit(client)
  if (admission.kind === 'in') return admission.caller
  progress.window = admission.window
  throw admission.error
}

function askAs(lane: Lane, call: Call, operation: Operation, caller: Caller): Maybe<Answer | Sent> {
  const { progress, response } = call
  progress.caller = caller
  const asked: CallerRequest = {
    caller,
    operation,
    rawQuery: progress.rawQuery,
    refusal: null,
    disconnectSignal: () => disconnectSignal(response),
  }
  // 4 The key's bucket, 5 the plan, 6 a place in flight, 7 the cache: one step of fast state.
  const checking = lane.gate.check(asked)
  if (!(checking instanceof Promise)) return continueRequest(lane, call, asked, checking)
  return checking.then((checked) => continueRequest(lane, call, asked, checked))
}

function continueRequest(
  lane: Lane,
  call: Call,
  asked: CallerRequest,
  checked: CheckedRequest,
): Maybe<Answer | Sent> {
  const { admitted } = checked
  const { progress } = call
  if (admitted.window !== null) progress.window = admitted.window
  if (admitted.kind === 'refused') throw rateLimited(admitted.window)
  // 5 to 7 again, where they refuse; 8 to 12: parameters, target, breaker, provider.
  const isStream = asked.operation.canStream === true && wantsStream(call.request.headers.accept)
  return isStream ? stream(lane, call, asked, checked) : lane.gate.answer(asked, checked)
}

/** A failure after the head ends the stream; the client's next request gets the error. */
async function stream(
  { gate, writer, unread }: Lane,
  { request, response, progress }: Call,
  asked: CallerRequest,
  checked: CheckedRequest,
): Promise<Sent> {
  const rawQuery = resumedQuery(request, asked.rawQuery)
  const following = await gate.follow({ ...asked, rawQuery }, checked).catch((error: unknown) => {
    throw blameHeader(request, error)
  })
  const begun = await readFirst(following).catch((error: unknown) => {
    following.leave()
    throw error
  })
  writer.stream(response, progress)
  const from = performance.now()
  try {
    const signal = asked.disconnectSignal()
    await writeEvents({ stream: begun, response, signal, unread })
  } finally {
    progress.waitedMs = performance.now() - from
    response.end()
  }
  return 'sent'
}

function succeed(lane: Lane, { response, progress }: Call, answer: Answer | Sent): void {
  if (answer !== 'sent') {
    progress.cache = answer.cache
    progress.waitedMs = answer.waitedMs ?? 0
    lane.writer.ok(response, progress, answer)
  }
  finish(lane, progress, 200, null)
}

function fail(lane: Lane, call: Call, thrown: unknown): void {
  const { progress } = call
  if (thrown instanceof GateError) progress.cache = thrown.cache
  const cause = thrown instanceof GateError ? thrown.cause : thrown
  const isGone = cause instanceof ClientDisconnected
  const error = isGone ? apiError('client_disconnected', { cause }) : toApiError(cause)
  if (!isGone) refuse(lane, call, error)
  finish(lane, progress, error.status, error)
}

function refuse(lane: Lane, { request, response, progress }: Call, error: ApiError): void {
  // A stream that has begun can carry no error: it is ended.
  if (response.headersSent) return
  // An unexpected body is not read: the connection ends with the answer.
  if (request.method !== 'GET') response.shouldKeepAlive = false
  if (isForPerson(request, progress)) {
    lane.writer.page(response, progress, lane.unknownPage(request.headers.cookie))
  } else {
    lane.writer.error(response, progress, error)
  }
}

function finish(lane: Lane, progress: Progress, status: number, error: unknown): void {
  lane.observe({
    door: 'rest',
    requestId: progress.requestId,
    operation: progress.operation?.name ?? null,
    status,
    cache: progress.cache,
    durationMs: performance.now() - progress.startedAt - progress.waitedMs,
    caller: progress.caller,
    error,
  })
}

/** Reading R4: an unknown path is answered with the JSON envelope, except for a browser outside the API. */
function isForPerson(request: IncomingMessage, { operation }: Progress): boolean {
  const isApi = /^\/v1(?:[/?]|$)/.test(request.url ?? '')
  return operation === null && !isApi && prefersPage(request.headers.accept)
}

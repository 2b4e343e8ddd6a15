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
import type { WindowState } from '#fast/port.ts'
import type { Admit } from '#gate/admit.ts'
import { type CacheResult, type Gate, GateError } from '#gate/gate.ts'
import type { Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import {
  ClientDisconnected,
  disconnectSignal,
  type IsTrustedProxy,
  makeApplicantReader,
  requestIdOf,
} from '../client.ts'
import { prefersPage } from '../preference.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import { makeReplyWriter, type ReplyFacts, type ReplyWriter, type StaticPage } from './reply.ts'
import { makeRoutes } from './route.ts'

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
  /** The page for a browser on a path that no door owns. */
  readonly unknownPage: StaticPage
  readonly observe: (record: ReadRecord) => void
}

export type RestLane = (request: IncomingMessage, response: ServerResponse) => void

/** What is known of a request so far; its headers are written from this, however it ends. */
interface Progress extends ReplyFacts {
  readonly startedAt: number
  readonly operation: Operation | null
  window: WindowState
  cache: CacheResult
  caller: Caller | null
}

const noWindow: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }

/** Dependencies of the lane; the same for every request. */
interface Lane extends RestLaneOptions {
  readonly routeOf: ReturnType<typeof makeRoutes>
  readonly clientOf: ReturnType<typeof makeApplicantReader>
  readonly writer: ReplyWriter
}

export function makeRestLane(options: RestLaneOptions): RestLane {
  const lane: Lane = {
    ...options,
    routeOf: makeRoutes(),
    clientOf: makeApplicantReader(options.isTrustedProxy),
    writer: makeReplyWriter(options.clock, options.docsUrl),
  }
  return (request, response) => void serve(lane, request, response)
}

// Synchronous results are not awaited: a cached answer is written in the same turn of the event loop in which
// its request arrived.
async function serve(lane: Lane, request: IncomingMessage, response: ServerResponse) {
  const { gate, admit } = lane
  const { operation, rawQuery, deprecated } = lane.routeOf(request.method, request.url ?? '/')
  const progress: Progress = {
    requestId: requestIdOf(request),
    startedAt: performance.now(),
    operation,
    deprecated,
    window: noWindow,
    cache: 'BYPASS',
    caller: null,
  }
  try {
    const client = lane.clientOf(request)

    // 1 Unknown path or method: the same answer with or without a key, at no cost.
    if (operation === null) {
      progress.window = await lane.throttle.peek(client.visitor)
      throw apiError('not_found')
    }

    // 2 The pre-auth limit, before any lookup of the key, and 3 authentication.
    let caller = admit.recall(client)
    if (caller === null) {
      const admission = await admit.admit(client)
      if (admission.kind !== 'in') {
        progress.window = admission.window
        throw admission.error
      }
      caller = admission.caller
    }
    progress.caller = caller

    // 4 The key's bucket, 5 the plan, 6 a place in flight, 7 the cache: one step of fast state.
    const asked = {
      caller,
      operation,
      rawQuery,
      refusal: null,
      disconnectSignal: () => disconnectSignal(response),
    }
    const passing = gate.pass(asked)
    const passage = passing instanceof Promise ? await passing : passing
    const { window } = passage.admitted
    if (window !== null) progress.window = window
    if (passage.admitted.kind === 'refused') throw rateLimited(passage.admitted.window)

    // 5 to 7 again, where they refuse; 8 to 12: parameters, target, breaker, provider.
    const answering = gate.finish(asked, passage)
    const answer = answering instanceof Promise ? await answering : answering
    progress.cache = answer.cache
    lane.writer.ok(response, progress, answer.body, answer.truncated)
    finish(lane, progress, 200, null)
  } catch (thrown) {
    const error = refuse(lane, request, response, { progress, thrown })
    finish(lane, progress, error.status, error)
  }
}

/** The error, and which steps the request had passed. */
interface Failure {
  readonly progress: Progress
  readonly thrown: unknown
}

/** Writes the refusal, unless the client has disconnected. */
function refuse(
  lane: Lane,
  request: IncomingMessage,
  response: ServerResponse,
  { progress, thrown }: Failure,
): ApiError {
  if (thrown instanceof GateError) progress.cache = thrown.cache
  const cause = thrown instanceof GateError ? thrown.cause : thrown
  if (cause instanceof ClientDisconnected) return apiError('client_disconnected', { cause })
  const error = toApiError(cause)
  // An unexpected body is not read: the connection ends with the answer.
  if (request.method !== 'GET') response.shouldKeepAlive = false
  if (isForPerson(request, progress)) lane.writer.page(response, progress, lane.unknownPage)
  else lane.writer.error(response, progress, error)
  return error
}

function finish(lane: Lane, progress: Progress, status: number, error: unknown): void {
  lane.observe({
    door: 'rest',
    requestId: progress.requestId,
    operation: progress.operation?.name ?? null,
    status,
    cache: progress.cache,
    durationMs: performance.now() - progress.startedAt,
    caller: progress.caller,
    error,
  })
}

/** Reading R4: an unknown path is answered with the JSON envelope, except for a browser outside the API. */
function isForPerson(request: IncomingMessage, { operation }: Progress): boolean {
  const isApi = /^\/v1(?:[/?]|$)/.test(request.url ?? '')
  return operation === null && !isApi && prefersPage(request.headers.accept)
}

/**
 * The REST door: a lane of its own on node:http that reads top to bottom like the list of reading R3. It translates
 * HTTP and calls the gate's steps; it holds no rule of an operation. Every answer is the envelope or the operation's
 * reply, with the headers of readings R6, R8 and R9.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { Operation, OperationName } from '#contract/operations.ts'
import { type CacheResult, type Gate, GateError } from '#gate/gate.ts'
import type { Identify } from '#gate/identify.ts'
import { settleUnidentified, type Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import type { WindowState } from '#store/kv-port.ts'
import { ClientGone, departure, type IsTrustedProxy, makeClients, requestIdOf } from '../client.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import { makeReplyWriter, type ReplyFacts } from './reply.ts'
import { makeRoutes } from './route.ts'

/** One request is over. */
export interface RestEvent {
  readonly requestId: string
  /** Null for an unknown path or method. */
  readonly operation: OperationName | null
  /** 499: the client went away before its answer. */
  readonly status: number
  readonly cache: CacheResult
  readonly durationMs: number
  readonly caller: Caller | null
  /** What went wrong; with its private cause. */
  readonly error: unknown
}

export interface RestLaneOptions {
  readonly gate: Gate
  readonly throttle: Throttle
  readonly identify: Identify
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /** Where deprecations are explained; asked late, since the address is known once the server listens. */
  readonly docsUrl: () => string
  readonly observe: (event: RestEvent) => void
}

export type RestLane = (request: IncomingMessage, response: ServerResponse) => void

/** What is known of a request so far; its headers are written from it, however it ends. */
interface Progress extends ReplyFacts {
  readonly startedAt: number
  readonly operation: Operation | null
  window: WindowState
  cache: CacheResult
  caller: Caller | null
}

const noWindow: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }

export function makeRestLane(options: RestLaneOptions): RestLane {
  const { gate, throttle, identify } = options
  const routeOf = makeRoutes()
  const clientOf = makeClients(options.isTrustedProxy)
  const writer = makeReplyWriter(options.clock, options.docsUrl)

  // What answers at once is not awaited: a cached answer is written in the same turn in which its request came.
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { operation, rawQuery, deprecated } = routeOf(request.method, request.url ?? '/')
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
      const { authorization, visitor } = clientOf(request)

      // 1 Unknown path or method: the same with or without a key, and it consumes nothing.
      if (operation === null) {
        progress.window = await throttle.peek(visitor)
        throw apiError('not_found')
      }

      // 2 The pre-auth limit, before any look-up of the key.
      const reserving = throttle.reserve(visitor)
      const reservation = reserving instanceof Promise ? await reserving : reserving
      progress.window = reservation.state
      if (!reservation.allowed) throw rateLimited(reservation.state)

      // 3 Authentication.
      let caller: Caller
      try {
        const identifying = identify.caller(authorization, request.socket)
        caller = identifying instanceof Promise ? await identifying : identifying
      } catch (error) {
        settleUnidentified(reservation, error)
        throw error
      }
      reservation.giveBack()
      progress.caller = caller

      // 4 The key's bucket, then 5 the plan.
      const counting = gate.limit(caller, operation.bucket)
      const window = counting instanceof Promise ? await counting : counting
      progress.window = window
      if (!window.allowed) throw rateLimited(window)
      gate.entitle(caller, operation)

      // 6 to 12: lease, cache, parameters, target, breaker, provider.
      const answering = gate.answer(caller, operation, rawQuery, () => departure(response))
      const answer = answering instanceof Promise ? await answering : answering
      progress.cache = answer.cache
      writer.ok(response, progress, answer.body, answer.truncated)
      finish(progress, 200, null)
    } catch (thrown) {
      refuse(request, response, progress, thrown)
    }
  }

  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    progress: Progress,
    thrown: unknown,
  ): void {
    if (thrown instanceof GateError) progress.cache = thrown.cache
    const cause = thrown instanceof GateError ? thrown.cause : thrown
    if (cause instanceof ClientGone) {
      finish(progress, 499, apiError('client_disconnected', { cause }))
      return
    }
    const error = toApiError(cause)
    // A body that came along uninvited is not read: the connection ends with the answer.
    if (request.method !== 'GET') response.shouldKeepAlive = false
    writer.error(response, progress, error)
    finish(progress, error.status, error)
  }

  function finish(progress: Progress, status: number, error: unknown): void {
    options.observe({
      requestId: progress.requestId,
      operation: progress.operation?.name ?? null,
      status,
      cache: progress.cache,
      durationMs: performance.now() - progress.startedAt,
      caller: progress.caller,
      error,
    })
  }

  return (request, response) => void serve(request, response)
}

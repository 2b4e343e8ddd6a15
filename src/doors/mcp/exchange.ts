/**
 * The state of one HTTP request to `/mcp`, used for its answer and its record, however it ends. Its calls run
 * one after another, so that a batch never holds more than one in-flight place (reading R28), and all of them
 * have the time of one request (reading R20c).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '#auth/caller.ts'
import type { ApiError } from '#contract/errors.ts'
import type { WindowState } from '#fast/port.ts'
import { noWindow } from '#gate/throttle.ts'
import { disconnectSignal, requestIdOf } from '../client.ts'

export interface McpExchange {
  readonly requestId: string
  readonly startedAt: number
  /** Aborted when the client disconnects before its answer (reading R22); made when something waits. */
  readonly disconnectSignal: () => AbortSignal
  /**
   * What ends the next wait of a call. The gate bounds the first one by the time of one request; the later
   * ones have what is left of it, then a TimeoutError.
   */
  readonly waitSignal: () => AbortSignal
  /** What the `X-RateLimit-*` headers describe (reading R6). */
  window: WindowState
  caller: Caller | null
  isBatch: boolean
  /** Number of tool calls so far. */
  calls: number
  /** Why a single call was refused with an HTTP error instead of a tool result. */
  refusal: ApiError | null
  /** The last error inside the protocol library. */
  fault: unknown
  /** Runs after all earlier work of this exchange has finished. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

export function beginExchange(
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): McpExchange {
  const startedAt = performance.now()
  let last: Promise<unknown> | null = null
  let gone: AbortSignal | null = null
  let ended: AbortSignal | null = null
  let hasWaited = false
  const whenGone = () => {
    gone ??= disconnectSignal(response)
    return gone
  }
  return {
    requestId: requestIdOf(request),
    startedAt,
    disconnectSignal: whenGone,
    waitSignal() {
      if (!hasWaited) {
        hasWaited = true
        return whenGone()
      }
      ended ??= AbortSignal.any([whenGone(), timeOut(startedAt + timeoutMs - performance.now())])
      return ended
    },
    window: noWindow,
    caller: null,
    isBatch: false,
    calls: 0,
    refusal: null,
    fault: null,
    inTurn(work) {
      const mine = (last ?? Promise.resolve()).then(work)
      last = mine.catch(() => undefined)
      return mine
    },
  }
}

function timeOut(leftMs: number): AbortSignal {
  if (leftMs > 0) return AbortSignal.timeout(Math.ceil(leftMs))
  return AbortSignal.abort(new DOMException('the request took too long', 'TimeoutError'))
}

/**
 * One HTTP request to `/mcp` on its way: what is known of it so far, however it ends. Its calls run one after another,
 * so that a batch never takes more than one place among those in flight (reading R28).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '#auth/caller.ts'
import type { ApiError } from '#contract/errors.ts'
import type { WindowState } from '#store/kv-port.ts'
import { departure, requestIdOf } from '../client.ts'

export interface Exchange {
  readonly requestId: string
  readonly startedAt: number
  /** Aborted when the client goes away before its answer (reading R22). */
  readonly departure: AbortSignal
  /** What the `X-RateLimit-*` headers describe (reading R6). */
  window: WindowState
  caller: Caller | null
  isBatch: boolean
  /** Calls of tools so far. */
  calls: number
  /** Why a single call was refused as HTTP instead of being answered as a result. */
  refusal: ApiError | null
  /** The last thing that went wrong inside the protocol's own library. */
  fault: unknown
  /** Runs after everything that was given here before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

const noWindow: WindowState = { allowed: true, limit: 0, remaining: 0, resetMs: 0 }

export function beginExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  let last: Promise<unknown> = Promise.resolve()
  return {
    requestId: requestIdOf(request),
    startedAt: performance.now(),
    departure: departure(response),
    window: noWindow,
    caller: null,
    isBatch: false,
    calls: 0,
    refusal: null,
    fault: null,
    inTurn(work) {
      const mine = last.then(work)
      last = mine.catch(() => undefined)
      return mine
    },
  }
}

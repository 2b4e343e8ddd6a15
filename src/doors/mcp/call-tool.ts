/**
 * One tool call, in the order of readings R3 and R28: limit, plan, scope, arguments, then exactly the answer of REST. A
 * refused single call is answered with an HTTP error; every other failure is a tool result that describes it. The lane
 * and the protocol library get the same result, each in its own form.
 */
import type { Caller } from '#auth/caller.ts'
import { type ApiError, apiError, type ErrorName } from '#contract/errors.ts'
import type { ToolOperation } from '#contract/tool-descriptions.ts'
import { type Answer, type CacheResult, type Gate, GateError } from '#gate/gate.ts'
import { requireScope } from '#gate/scope.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import { ClientDisconnected } from '../client.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import type { Exchange } from './exchange.ts'
import type { ShorterPage } from './result.ts'
import { toRawQuery } from './tool-query.ts'

export interface CallToolDeps {
  readonly gate: Gate
  readonly clock: Clock
  readonly observe: (record: ReadRecord) => void
}

/** A call of one tool. */
export interface ToolCall {
  readonly operation: ToolOperation
  readonly given: Readonly<Record<string, unknown>>
}

/** How a result is written. */
export interface ResultForm<Result> {
  /** `isShorter`: the answer is that of a `ShorterPage`. */
  answer(
    operation: ToolOperation,
    answer: Answer,
    isShorter: boolean,
  ): { readonly result: Result } | ShorterPage
  error(error: ApiError, requestId: string): Result
}

export type CallTool = <Result>(
  exchange: Exchange,
  caller: Caller,
  call: ToolCall,
  form: ResultForm<Result>,
) => Promise<Result>

/** Refusals before the operation runs: an HTTP error when the call is the only one of its request (reading R28). */
const refusals: readonly ErrorName[] = [
  'rate_limited',
  'too_many_concurrent',
  'plan_required',
  'professional_required',
  'insufficient_scope',
]

export function makeCallTool(deps: CallToolDeps): CallTool {
  const { gate, clock } = deps
  return async (exchange, caller, { operation, given }, form) => {
    const startedAt = performance.now()
    exchange.calls += 1
    let cache: CacheResult = 'BYPASS'
    const finish = (status: number, error: ApiError | null) => {
      deps.observe({
        door: 'mcp',
        requestId: exchange.requestId,
        operation: operation.name,
        status,
        cache,
        durationMs: performance.now() - startedAt,
        caller,
        error,
      })
    }
    try {
      const counting = gate.limit(caller, operation.bucket)
      const window = counting instanceof Promise ? await counting : counting
      exchange.window = window
      if (!window.allowed) throw rateLimited(window)
      gate.entitle(caller, operation)
      requireScope(caller, operation)
      const now = clock.now()
      // Each shorter page has fewer places than the one before, and one place always fits.
      for (let shorter: ShorterPage | null = null; ; ) {
        const rawQuery = toRawQuery(operation, { ...given, ...shorter }, caller, now)
        const answering = gate.answer(caller, operation, rawQuery, exchange.disconnectSignal)
        const answer = answering instanceof Promise ? await answering : answering
        cache = answer.cache
        const written = form.answer(operation, answer, shorter !== null)
        if ('result' in written) {
          finish(200, null)
          return written.result
        }
        shorter = written
      }
    } catch (thrown) {
      if (thrown instanceof GateError) cache = thrown.cache
      const cause = thrown instanceof GateError ? thrown.cause : thrown
      const error =
        cause instanceof ClientDisconnected
          ? apiError('client_disconnected', { cause })
          : toApiError(cause)
      finish(error.status, error)
      if (!exchange.isBatch && refusals.includes(error.entry)) exchange.refusal = error
      return form.error(error, exchange.requestId)
    }
  }
}

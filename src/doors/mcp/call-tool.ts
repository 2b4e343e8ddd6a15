/**
 * One tool call, refused in the order of readings R3 and R28: limit, plan, scope, arguments, then exactly the
 * answer of REST. Scope and arguments are judged before the call is counted, so that limit, place and cache
 * are one step of fast state. A refused single call is answered with an HTTP error; every other failure is a
 * tool result that describes it. The lane and the protocol library get the same result, each in its own form.
 */
import type { Caller } from '#auth/caller.ts'
import { ApiError, apiError, type ErrorName } from '#contract/errors.ts'
import type { ToolOperation } from '#contract/tool-descriptions.ts'
import {
  type Answer,
  type CacheResult,
  type CallerRequest,
  type Gate,
  GateError,
} from '#gate/gate.ts'
import { checkTokenScope } from '#gate/scope.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import { ClientDisconnected } from '../client.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import type { McpExchange } from './exchange.ts'
import type { ShorterPage } from './result.ts'
import { type ToolQuery, toToolQuery } from './tool-query.ts'

export interface CallToolOptions {
  readonly gate: Gate
  readonly clock: Clock
  readonly observe: (record: ReadRecord) => void
}

export interface ToolCall {
  readonly operation: ToolOperation
  readonly given: Readonly<Record<string, unknown>>
}

/** What the answer does not say of itself. */
export interface AnswerAbout extends Pick<ToolQuery, 'until'> {
  /** It is that of a `ShorterPage`. */
  readonly isShorter: boolean
}

/** How a result is written. */
export interface ResultForm<Result> {
  answer(
    operation: ToolOperation,
    answer: Answer,
    about: AnswerAbout,
  ): { readonly result: Result } | ShorterPage
  error(error: ApiError, requestId: string): Result
}

export type CallTool = <Result>(
  exchange: McpExchange,
  caller: Caller,
  call: ToolCall,
  form: ResultForm<Result>,
) => Promise<Result>

/** Refusals before the operation runs: an HTTP error when the call is alone in its request (reading R28). */
const refusals: readonly ErrorName[] = [
  'rate_limited',
  'too_many_concurrent',
  'plan_required',
  'professional_required',
  'insufficient_scope',
  'key_lacks_scope',
  // The key was revoked while its request was on its way here.
  'invalid_token',
]

export function makeCallTool(options: CallToolOptions): CallTool {
  const { gate, clock } = options
  return async (exchange, caller, { operation, given }, form) => {
    const startedAt = performance.now()
    exchange.calls += 1
    let cache: CacheResult = 'BYPASS'
    const finish = (status: number, error: ApiError | null) => {
      options.observe({
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
      const now = clock.now()
      const asked = {
        caller,
        operation,
        disconnectSignal: exchange.waitSignal,
        ...judge(caller, { operation, given }, now),
      }
      const checking = gate.check(asked)
      const checked = checking instanceof Promise ? await checking : checking
      const { window } = checked.admitted
      if (window !== null) exchange.window = window
      if (checked.admitted.kind === 'refused') throw rateLimited(checked.admitted.window)
      let answering = gate.answer(asked, checked)
      // Each shorter page has fewer places than the one before, and one place always fits.
      for (let shorter: ShorterPage | null = null; ; ) {
        const answer: Answer = answering instanceof Promise ? await answering : answering
        cache = answer.cache
        const about = { isShorter: shorter !== null, until: asked.until }
        const written = form.answer(operation, answer, about)
        if ('result' in written) {
          finish(200, null)
          return written.result
        }
        shorter = written
        const query = toToolQuery(operation, { ...given, ...shorter }, caller, now)
        answering = gate.answerAgain({ ...asked, ...query })
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

/**
 * What is wrong with a call besides the limit and the plan, which come first: its scope, then its arguments.
 */
function judge(
  caller: Caller,
  { operation, given }: ToolCall,
  now: number,
): ToolQuery & Pick<CallerRequest, 'refusal'> {
  const lacked = checkTokenScope(caller, operation)
  if (lacked !== null) return { rawQuery: '', refusal: lacked }
  try {
    return { ...toToolQuery(operation, given, caller, now), refusal: null }
  } catch (refusal) {
    if (refusal instanceof ApiError) return { rawQuery: '', refusal }
    throw refusal
  }
}

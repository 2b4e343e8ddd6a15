/**
 * What people read on the pages themselves: the operations of REST through the same gate, with limits of
 * their own that no key or agent shares. Every read is recorded as one of the dashboard. Nothing is kept.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Caller, ownBucket, toCaller } from '#auth/caller.ts'
import { type ApiError, apiError } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import {
  type Answer,
  type CacheResult,
  type CallerRequest,
  type Gate,
  GateError,
} from '#gate/gate.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { UserAccessRow } from '#store/ports/users.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import { ClientDisconnected, disconnectSignal, requestIdOf } from '../../client.ts'
import { rateLimited, toApiError } from '../../refusal.ts'

/** The parameters of a request of REST; null: not given. */
export type AskedQuery = Readonly<Record<string, string | null>>

export interface Asked {
  readonly operation: Operation
  readonly query: AskedQuery
}

export interface Told<Body> {
  readonly body: Body
  /** A cap ended the page early. */
  readonly truncated: boolean
  /** The age of the data (reading R36); null: they are no older than the answer's cache lifetime. */
  readonly asOf: Millis | null
  /** It was read now, not earlier. */
  readonly isNew: boolean
}

export interface OwnReads {
  readonly timezone: string
  /** One request of REST. `isCounted` false: a further window of one that was counted. @throws ApiError. */
  ask<Body>(asked: Asked, isCounted?: boolean): Promise<Told<Body>>
}

export interface OwnReadsOptions {
  readonly gate: Pick<Gate, 'check' | 'answer' | 'answerAgain'>
  /** Plan, zone and epoch; null: there is no such user. */
  readonly findAccess: (id: UserId) => Promise<UserAccessRow | null>
  readonly observe: (record: ReadRecord) => void
}

/** Who reads, in which request. */
export interface Reader {
  readonly userId: UserId
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** @throws OwnerGoneError when the account was deleted meanwhile. */
export type OpenOwnReads = (reader: Reader) => Promise<OwnReads>

/** For all reads of one page; what was not read until then is said on it. */
const pageTimeMs = 25_000

/** The query as it stands in the address. */
export function toQueryText(query: AskedQuery): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return `${new URLSearchParams(given)}`
}

export function makeOwnReads(options: OwnReadsOptions): OpenOwnReads {
  return async ({ userId, request, response }) => {
    const access = await options.findAccess(userId)
    if (access === null) throw new OwnerGoneError('the user is gone or being deleted')
    const caller = toCaller(access, { bucketId: ownBucket })
    const ended = AbortSignal.any([disconnectSignal(response), AbortSignal.timeout(pageTimeMs)])
    const about = { caller, ended, requestId: requestIdOf(request) }
    return {
      timezone: caller.timezone,
      ask: (asked, isCounted = true) => ask(options, about, { ...asked, isCounted }),
    }
  }
}

interface About {
  readonly caller: Caller
  readonly requestId: string
  /** The browser has left, or the time is over. */
  readonly ended: AbortSignal
}

async function ask<Body>(
  { gate, observe }: OwnReadsOptions,
  { caller, requestId, ended }: About,
  { operation, query, isCounted }: Asked & { readonly isCounted: boolean },
): Promise<Told<Body>> {
  const startedAt = performance.now()
  const note = (cache: CacheResult, error: ApiError | null) =>
    observe({
      door: 'dashboard',
      requestId,
      operation: operation.name,
      status: error?.status ?? 200,
      cache,
      durationMs: performance.now() - startedAt,
      caller,
      error,
    })
  const asked: CallerRequest = {
    caller,
    operation,
    rawQuery: toQueryText(query),
    refusal: null,
    disconnectSignal: () => ended,
  }
  try {
    const answer = await (isCounted ? answerOnce(gate, asked) : gate.answerAgain(asked))
    note(answer.cache, null)
    // Amounts are text, so that nothing of them passes through a float.
    const body = JSON.parse(Buffer.from(answer.body).toString()) as Body
    const { truncated, asOf = null, cache } = answer
    return { body, truncated, asOf, isNew: cache !== 'HIT' }
  } catch (thrown) {
    const error = toPublic(thrown)
    note(thrown instanceof GateError ? thrown.cache : 'BYPASS', error)
    throw error
  }
}

async function answerOnce(
  gate: Pick<Gate, 'check' | 'answer'>,
  asked: CallerRequest,
): Promise<Answer> {
  const checked = await gate.check(asked)
  if (checked.admitted.kind === 'refused') throw rateLimited(checked.admitted.window)
  return gate.answer(asked, checked)
}

function toPublic(thrown: unknown): ApiError {
  const cause = thrown instanceof GateError ? thrown.cause : thrown
  return cause instanceof ClientDisconnected
    ? apiError('client_disconnected', { cause })
    : toApiError(cause)
}

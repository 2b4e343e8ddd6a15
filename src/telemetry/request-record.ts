/**
 * What is recorded about a finished request, for the log and the metrics. It contains nothing of the
 * request's or the answer's content.
 */

import type { Caller } from '#auth/caller.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import type { WebhookOutcome } from '#connections/receive-webhook.ts'
import type { OperationName } from '#contract/operations.ts'
import type { Provider } from '#contract/resources.ts'
import type { CacheResult } from '#gate/gate.ts'
import type { ProgramId } from '#kernel/ids.ts'

interface Ended {
  /** As the client saw it, or as REST would have answered; 499: the client disconnected before its answer. */
  readonly status: number
  readonly durationMs: number
}

/** A read by REST, by an agent's tool, or of a person on the pages (`dashboard`). */
export interface ReadRecord extends Ended {
  readonly door: 'rest' | 'mcp' | 'dashboard'
  readonly requestId: string
  /** Null for an unknown path or method, and for a request that calls no tool. */
  readonly operation: OperationName | null
  readonly cache: CacheResult
  readonly caller: Caller | null
  /** The error, with its private cause. */
  readonly error: unknown
}

export interface SimplefinRecord extends Ended {
  readonly door: 'simplefin'
  readonly requestId: string
  readonly resource: 'info' | 'claim' | 'accounts' | 'unknown'
  /** Null: none was identified. */
  readonly programId: ProgramId | null
  /** Whom it reads for; null with the program. */
  readonly caller: Caller | null
  /** `MISS` where a part of the answer had to be read from a provider. */
  readonly cache: CacheResult
  /** The error, with its private cause. */
  readonly error: unknown
}

/** A webhook of a provider. */
export interface WebhookRecord extends Ended {
  readonly door: 'provider-webhooks'
  readonly provider: Provider
  /**
   * What became of it (src/connections/receive-webhook.ts); `unverified`: its signature could not be checked
   * now; `limited`, `busy`, `too_large`, `too_slow`, `gone`: it was not read; `failed`: our error, or our
   * store is unavailable.
   */
  readonly outcome:
    | WebhookOutcome
    | 'unverified'
    | 'limited'
    | 'busy'
    | 'too_large'
    | 'too_slow'
    | 'gone'
    | 'failed'
  /** The error, with its private cause; null unless it failed. */
  readonly error: unknown
}

export type RequestRecord = ReadRecord | OAuthRecord

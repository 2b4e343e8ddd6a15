/**
 * What every resource receives and returns. A resource reads; it knows neither HTTP nor limits nor the cache.
 */
import type { Caller } from '#auth/caller.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Clock, Millis } from '#kernel/time.ts'
import type { Windows } from '#paging/windows.ts'
import type { Guard } from '#providers/guard.ts'
import type { Adapters, CallContext } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import type { DateParameters } from './date-window.ts'
import type { PendingMemories } from './pending/pending-memory.ts'

export interface ReadOptions {
  readonly store: Store
  readonly adapters: Adapters
  readonly guard: Guard
  readonly windows: Windows
  /** What is remembered of pending rows (reading R39). */
  readonly memories: PendingMemories
  readonly clock: Clock
  /** Refreshes the connection's accounts from the provider, because one of them may have moved. */
  readonly refreshAccounts: (connectionId: ConnectionId, call: CallContext) => Promise<void>
  /** An unreadable balance is data for the caller, and is reported to the operator. */
  readonly onBalanceFailure: (error: unknown) => void
}

export interface ReadContext {
  readonly caller: Caller
  /** Aborted when no caller waits any more, or with a TimeoutError when the request's time is over. */
  readonly signal: AbortSignal
  /** The range of an agent's walk that may have begun before midnight (`readFormerRange`). */
  readonly formerRange?: DateParameters | undefined
}

export interface ReadResult<Body> {
  readonly body: Body
  /** The row ceiling or the page cap was reached (`X-Service-Truncated`). */
  readonly truncated: boolean
  /** False for answers that are correct but must not be cached (a null balance). */
  readonly cacheable: boolean
  /** When the oldest part expires; it must not be cached longer. Absent: all parts are fresh. */
  readonly staleAt?: Millis
  /** When the institution last updated the oldest part, for `X-Data-As-Of`; absent: not known. */
  readonly asOf?: Millis
}

/** A complete, cacheable reading. */
export function whole<Body>(body: Body): ReadResult<Body> {
  return { body, truncated: false, cacheable: true }
}

/**
 * What every resource is given and gives back. A resource reads; it knows neither HTTP nor limits nor the cache.
 */
import type { Caller } from '#auth/caller.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Guard } from '#providers/guard.ts'
import type { Adapters, CallContext } from '#providers/port.ts'
import type { Store } from '#store/port.ts'
import type { Walks } from './walks.ts'

export interface ReadDeps {
  readonly store: Store
  readonly adapters: Adapters
  readonly guard: Guard
  readonly walks: Walks
  readonly clock: Clock
  /** Reads the connection's accounts anew at the provider: one of them may have moved. */
  readonly refreshAccounts: (connectionId: ConnectionId, call: CallContext) => Promise<void>
  /** A balance that could not be read is data for the caller and news for the operator. */
  readonly onBalanceFailure: (error: unknown) => void
}

export interface ReadContext {
  readonly caller: Caller
  /** Aborted when nobody waits any more, or with a TimeoutError when the request's time is over. */
  readonly signal: AbortSignal
}

export interface Reading<Body> {
  readonly body: Body
  /** The row ceiling or the page cap fired (`X-Service-Truncated`). */
  readonly truncated: boolean
  /** False for answers that are right but may not be kept (a null balance). */
  readonly cacheable: boolean
  /** When what it is made of is over (ms since the epoch): it may be kept no longer. Absent: made of fresh answers. */
  readonly staleAt?: number
}

/** A whole, cacheable reading. */
export function whole<Body>(body: Body): Reading<Body> {
  return { body, truncated: false, cacheable: true }
}

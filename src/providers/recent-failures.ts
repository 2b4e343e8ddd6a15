/**
 * The last failure of each connection's calls, with the provider's own sentence, for the doctor of this
 * process. It is kept in memory alone: a sentence of a provider is never stored.
 */
import type { ConnectionId } from '#kernel/ids.ts'
import type { Clock, Millis } from '#kernel/time.ts'
import { UpstreamError } from './failure.ts'

export interface RecentFailure {
  readonly kind: UpstreamError['failure']['kind']
  /** The provider's sentence, or the adapter's. */
  readonly detail: string
  readonly at: Millis
  /** When the provider allows the next call; absent: it named no wait. */
  readonly until?: Millis
  /** Its answers kept coming until the time of our request was over. */
  readonly isAnswering?: true
}

export interface RecentFailures {
  /** Notes how a call ended; null: it succeeded. What is no failure of a provider changes nothing. */
  note(id: ConnectionId, error: unknown): void
  find(id: ConnectionId): RecentFailure | null
  /** Those that failed since an instant, the newest first. */
  list(since: number): readonly ConnectionId[]
}

const maxConnections = 1000

export function makeRecentFailures(clock: Clock): RecentFailures {
  // In the order in which they failed last.
  const failures = new Map<ConnectionId, RecentFailure>()
  return {
    note(id, error) {
      const upstream = findUpstream(error)
      if (error !== null && upstream === null) return
      failures.delete(id)
      if (upstream === null) return
      const { failure } = upstream
      const { kind, detail } = failure
      const at = clock.now()
      const wait = kind === 'throttled' ? { until: at + failure.retryAfterSeconds * 1000 } : {}
      const slow =
        kind === 'unavailable' && failure.isAnswering ? { isAnswering: true as const } : {}
      failures.set(id, { kind, detail, at, ...wait, ...slow })
      const [oldest] = failures.keys()
      if (failures.size > maxConnections && oldest !== undefined) failures.delete(oldest)
    },
    find: (id) => failures.get(id) ?? null,
    list: (since) => [...failures].flatMap(([id, { at }]) => (at < since ? [] : [id])).toReversed(),
  }
}

/** The public error of a refused call has the provider's as its cause. */
function findUpstream(error: unknown): UpstreamError | null {
  if (error instanceof UpstreamError) return error
  return error instanceof Error && error.cause instanceof UpstreamError ? error.cause : null
}

/**
 * The public time of a connection's last refresh: the provider's own time; where it reports none, our last successful
 * read of an active connection; null when neither is known.
 */
import type { Clock } from '#kernel/time.ts'
import { microsPerMs, parseInstant } from '#kernel/time.ts'
import type { Adapter, DiscoveredConnection } from '#providers/port.ts'

export interface RefreshedAt {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** True when the provider reported the time. */
  readonly isReported: boolean
}

/** The time from a discovery; null when it has none. */
export function readRefreshedAt(
  adapter: Pick<Adapter, 'freshness'>,
  found: DiscoveredConnection,
  clock: Clock,
): RefreshedAt | null {
  if (found.lastRefreshedAt !== null)
    return { at: toMillis(found.lastRefreshedAt), isReported: true }
  const isRead = adapter.freshness === 'reads' && found.status === 'active'
  return isRead && found.accounts !== null ? { at: clock.now(), isReported: false } : null
}

/** Converts an adapter's ISO 8601 text to milliseconds since the epoch. */
export function toMillis(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new Error('an adapter returned a time that is not an ISO 8601 instant')
  return Math.floor(at / microsPerMs)
}

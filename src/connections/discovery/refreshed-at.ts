/**
 * The public time of a connection's last refresh: the provider's own time; where it reports none, our last
 * successful read of an active connection; null when neither is known.
 */
import type { Clock, Millis } from '#kernel/time.ts'
import { parseInstant, toMillis } from '#kernel/time.ts'
import type { Adapter, DiscoveredConnection } from '#providers/port.ts'

export interface RefreshedAt {
  readonly at: Millis
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
    return { at: readProviderTime(found.lastRefreshedAt), isReported: true }
  const isRead = adapter.freshness === 'reads' && found.status === 'active'
  return isRead && found.accounts !== null ? { at: clock.now(), isReported: false } : null
}

/** Reads an adapter's ISO 8601 text. */
export function readProviderTime(text: string): Millis {
  const at = parseInstant(text)
  if (at === null) throw new Error('an adapter returned a time that is not an ISO 8601 instant')
  return toMillis(at)
}

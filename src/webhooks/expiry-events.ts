/**
 * Announces that consents end, 30, 7 and 1 days before (reading R41), each once. What became due while no
 * process ran, or before an endpoint named the event, is announced by the nearest day that is still true. A
 * renewed consent ends at another time, and is announced anew.
 */
import { type ExpiryDays, expiryDays } from '#contract/events.ts'
import { visitExpiring } from '#jobs/expiring.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, dayMs, hourMs, type Millis } from '#kernel/time.ts'
import type { ExpiringRow } from '#store/ports/connection-events.ts'
import type { Store } from '#store/ports/store.ts'

/** The hourly task that announces the consents which end soon. */
export function makeExpiryEvents(options: {
  readonly store: Pick<Store, 'connectionEvents'>
  readonly clock: Clock
}): PeriodicTask {
  const { store, clock } = options
  return {
    name: 'expiry-events',
    everyMs: hourMs,
    firstRun: 'at_once',
    async run(stop) {
      const now = clock.now()
      const { listExpiring } = store.connectionEvents
      const soon = { now, before: now + Math.max(...expiryDays) * dayMs, stop }
      await visitExpiring(listExpiring, soon, (row) => announce(store, row, now))
    },
  }
}

async function announce(
  { connectionEvents }: Pick<Store, 'connectionEvents'>,
  { id, consentExpiresAt: expiresAt, toldExpiresAt, toldDays }: ExpiringRow,
  now: Millis,
): Promise<void> {
  const days = nearestDays(expiresAt - now)
  if (days === null) return
  const isTold = toldExpiresAt === expiresAt && toldDays !== null && toldDays <= days
  if (!isTold) await connectionEvents.announceExpiry(id, { expiresAt, days, at: now })
}

/** The smallest number of days that a consent ends in at most; null: it has ended, or ends later. */
export function nearestDays(remainingMs: number): ExpiryDays | null {
  if (remainingMs <= 0) return null
  return expiryDays.findLast((days) => remainingMs <= days * dayMs) ?? null
}

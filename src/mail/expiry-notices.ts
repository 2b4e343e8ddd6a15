/**
 * Queues the notices that a consent ends, 14 and 3 days before. A renewed consent ends at another time and is
 * another matter. A consent that is first seen in its last three days is mailed about once.
 */
import { visitExpiring } from '#jobs/expiring.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, dayMs, hourMs } from '#kernel/time.ts'
import type { ExpiringConnection } from '#store/ports/connections.ts'
import type { Store } from '#store/ports/store.ts'

const [early, late] = [14, 3] as const

export function makeExpiryNotices(options: {
  readonly store: Pick<Store, 'connections' | 'mails'>
  readonly clock: Clock
}): PeriodicTask {
  const { store, clock } = options
  return {
    name: 'expiry-notices',
    everyMs: hourMs,
    firstRun: 'at_once',
    async run(stop) {
      const now = clock.now()
      // What has ended already is reported as a connection to be reconnected.
      const { listExpiring } = store.connections
      const soon = { now, before: now + early * dayMs, stop }
      await visitExpiring(listExpiring, soon, (row) => queue(store, row, now))
    },
  }
}

async function queue(
  store: Pick<Store, 'mails'>,
  { id, userId, status, consentExpiresAt: expiresAt }: ExpiringConnection,
  now: number,
): Promise<void> {
  if (status !== 'active' || expiresAt <= now) return
  const days = expiresAt - now <= late * dayMs ? late : early
  const matter = { kind: 'consent-expiry', connectionId: id, expiresAt } as const
  await store.mails.queue({ key: `consent:${id}:${expiresAt}:${days}`, userId, matter, at: now })
}

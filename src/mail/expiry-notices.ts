/**
 * Queues the notices that a consent ends, 14 and 3 days before. A renewed consent ends at another time and is
 * another matter. A consent that is first seen in its last three days is mailed about once.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type ConnectionId, parseUuid } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { ExpiringConnection } from '#store/ports/connections.ts'
import type { Store } from '#store/ports/store.ts'

const dayMs = 86_400_000
const [early, late] = [14, 3] as const
const pageRows = 200
/** Of one run; the rest waits for the next one. */
const maxPages = 500

/** Sorts before every id. */
const firstId = parseUuid<ConnectionId>('00000000-0000-0000-0000-000000000000')

export function makeExpiryNotices(options: {
  readonly store: Pick<Store, 'connections' | 'mails'>
  readonly clock: Clock
}): PeriodicTask {
  const { store, clock } = options
  return {
    name: 'expiry-notices',
    everyMs: 60 * 60_000,
    firstRun: 'at_once',
    async run(stop) {
      const now = clock.now()
      // What has ended already is reported as a connection to be reconnected.
      let after = firstId === null ? null : { consentExpiresAt: now, id: firstId }
      for (let page = 0; page < maxPages && !stop.aborted; page += 1) {
        const before = now + early * dayMs
        const rows = await store.connections.listExpiring({ before, after, limit: pageRows })
        for (const row of rows) await queue(store, row, now)
        const last = rows.at(-1)
        if (last === undefined || rows.length < pageRows) return
        after = { consentExpiresAt: last.consentExpiresAt, id: last.id }
      }
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

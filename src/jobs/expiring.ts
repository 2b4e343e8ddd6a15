/** Goes through the connections whose consents end soon, a page at a time, for the tasks that tell of it. */
import { type ConnectionId, parseUuid } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'

const pageRows = 200
/** Pages of one run; the rest waits for the next one. */
const maxPages = 500

/** Sorts before every id. */
const firstId = parseUuid<ConnectionId>('00000000-0000-0000-0000-000000000000')

interface Ending {
  readonly id: ConnectionId
  readonly consentExpiresAt: Millis
}

interface ExpiringPage {
  readonly before: Millis
  readonly after: Ending | null
  readonly limit: number
}

/** Visits each whose consent ends after `now` and before `before`, the next to end first. */
export async function visitExpiring<Row extends Ending>(
  list: (page: ExpiringPage) => Promise<readonly Row[]>,
  {
    now,
    before,
    stop,
  }: { readonly now: Millis; readonly before: Millis; readonly stop: AbortSignal },
  visit: (row: Row) => Promise<void>,
): Promise<void> {
  let after: Ending | null = firstId === null ? null : { consentExpiresAt: now, id: firstId }
  for (let page = 0; page < maxPages && !stop.aborted; page += 1) {
    const rows = await list({ before, after, limit: pageRows })
    for (const row of rows) await visit(row)
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageRows) return
    after = { consentExpiresAt: last.consentExpiresAt, id: last.id }
  }
}

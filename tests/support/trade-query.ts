/** The query of unit tests that read trades of SnapTrade. */
import { newId, upstreamId } from '#kernel/ids.ts'
import { getZone } from '#kernel/time.ts'
import type { AccountRef, RowsQuery } from '#providers/port.ts'

const account: AccountRef = {
  id: newId(),
  connectionId: newId(),
  upstreamId: upstreamId('acc-1'),
  name: 'Margin',
  currency: 'USD',
}

/** All trades of one account; `zone`: that of the user, a name of the IANA database. */
export function makeTradeQuery(zone: string): RowsQuery {
  return {
    userId: newId(),
    login: { id: newId(), upstreamUserId: 'u', secret: 's', version: 1 },
    connection: { id: account.connectionId, upstreamId: upstreamId('c-1'), status: 'active' },
    accounts: [account],
    scoped: true,
    window: { from: null, to: null },
    zone: getZone(zone),
  }
}

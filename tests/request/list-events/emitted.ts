/** Events as a sync accepts them, and bodies with many digits. */
import type { SyncEventType } from '#contract/events.ts'
import { type ConnectionId, newId, type SyncRunId, type UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import { makeEvents } from '#webhooks/envelope.ts'

/** More than a float can hold. */
export const manyDigits = '90071992547409931'

export function transactionText(over: Readonly<Record<string, string>> = {}): string {
  const row = {
    id: 'txn_1',
    object: 'transaction',
    amount: 'AMOUNT',
    currency: 'aud',
    status: 'posted',
    description: 'COFFEE',
    direction: 'credit',
    class: 'payment',
    account_id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    account_name: 'Everyday',
    account: 'Everyday',
    local_date: '2026-11-20',
    transaction_date: '2026-11-19T21:04:31Z',
    post_date: '2026-11-20T02:00:00Z',
    merchant_name: null,
    category: null,
    merchant_category_code: null,
    reference: null,
    extended_description: null,
    ...over,
  }
  return JSON.stringify(row).replace('"AMOUNT"', over.amount ?? manyDigits)
}

export interface EmittedRun {
  readonly type?: SyncEventType
  readonly rows?: readonly string[]
  readonly at?: number
}

/** Accepts the events of one run; resolves to their bodies in order. */
export async function emit(
  store: Pick<Store, 'events'>,
  userId: UserId,
  { type = 'transactions.synced', rows = [], at = Date.UTC(2026, 10, 21, 2) }: EmittedRun = {},
): Promise<readonly string[]> {
  const events = [
    ...makeEvents({
      userId,
      connectionId: newId<ConnectionId>(),
      runId: newId<SyncRunId>(),
      type,
      createdAt: at,
      new: rows,
      updated: [],
    }),
  ]
  const bodies = events.map(({ body }) => Buffer.from(body).toString('utf8'))
  await store.events.accept(await store.events.seal(events))
  return bodies
}

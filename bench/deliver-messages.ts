/** Events of syncs with a given number of new transactions, as they are sent. */
import { type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import type { NewEvent } from '#store/ports/events.ts'
import { makeEvents } from '#webhooks/envelope.ts'

const row = JSON.stringify({
  id: 'b7c31f0e-5a3e-4f0c-9a1c-2f1f0a4c7d11',
  object: 'transaction',
  amount: -4599,
  currency: 'aud',
  status: 'posted',
  description: 'CARD PURCHASE GROCER 2041 SYDNEY NSW',
  direction: 'debit',
  class: 'payment',
  account_id: '0d3a9b52-6c0e-4cb1-8c39-7b9a1e1f5a20',
  account_name: 'Everyday',
  account: 'Everyday',
  local_date: '2026-11-20',
  transaction_date: '2026-11-20',
  post_date: '2026-11-20',
  merchant_name: 'Grocer',
  category: 'groceries',
  merchant_category_code: '5411',
  reference: null,
  extended_description: null,
})

/** One event of a connection with `rows` rows, at most 100. */
export function makeEvent(
  userId: UserId,
  connectionId: ConnectionId,
  { rows, createdAt = Date.now() }: { readonly rows: number; readonly createdAt?: number },
): NewEvent {
  const [event] = makeEvents({
    userId,
    connectionId,
    runId: newId(),
    type: 'transactions.synced',
    createdAt,
    new: Array.from({ length: rows }, () => row),
    updated: [],
  })
  if (event === undefined) throw new Error('a sync made no event')
  return event
}

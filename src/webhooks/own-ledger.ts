/** A user's ledger is kept while they have a webhook endpoint or a consumer of events (reading R34b). */
import type { UserId } from '#kernel/ids.ts'
import type { StoreRows } from '#store/ports/store.ts'

/**
 * Locks the ledger's key before endpoints or consumers are counted, so that a concurrent removal of the last
 * one ends the ledger before or after this, never in between.
 */
export async function beginLedger(
  { ledgers }: Pick<StoreRows, 'ledgers'>,
  userId: UserId,
): Promise<void> {
  await ledgers.begin(userId)
  // The ledger existed, and was ended while this call waited for the lock.
  if ((await ledgers.readKey(userId)) === null) await ledgers.begin(userId)
}

/** The caller has locked the ledger's key and removed an endpoint or a consumer. */
export async function endLedgerIfUnused(
  { ledgers, endpoints, consumers }: Pick<StoreRows, 'ledgers' | 'endpoints' | 'consumers'>,
  userId: UserId,
): Promise<void> {
  const isUsed = (await endpoints.list(userId)).length > 0 || (await consumers.count(userId)) > 0
  if (!isUsed) await ledgers.end(userId)
}

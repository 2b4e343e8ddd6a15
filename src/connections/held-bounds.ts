/**
 * How much one person may have. No honest person comes near it: it keeps pages, lists and syncs of everybody
 * else from waiting for somebody whose own server makes up thousands of banks.
 */
import { ApiError, apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import type { StoreRows } from '#store/ports/store.ts'

const maxConnections = 500
const maxAccounts = 5000

/**
 * Does work of a transaction that may add connections and accounts. Who has more than the bound already keeps
 * it, and gets no more. Nothing of a list is left out: the whole of it is refused.
 * @throws ApiError `too_many_connections`, which undoes the transaction
 */
export async function withinBounds<Result>(
  tx: StoreRows,
  userId: UserId,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = await tx.connections.countHeld(userId)
  const result = await work()
  const after = await tx.connections.countHeld(userId)
  const hasGrown =
    after.connections > Math.max(maxConnections, before.connections) ||
    after.accounts > Math.max(maxAccounts, before.accounts)
  if (hasGrown) throw apiError('too_many_connections')
  return result
}

/** Before a page of a provider is opened for a new connection. @throws ApiError `too_many_connections` */
export async function demandPlace(
  store: { readonly connections: Pick<StoreRows['connections'], 'countHeld'> },
  userId: UserId,
): Promise<void> {
  const { connections, accounts } = await store.connections.countHeld(userId)
  if (connections >= maxConnections || accounts >= maxAccounts) {
    throw apiError('too_many_connections')
  }
}

export const isTooMany = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.entry === 'too_many_connections'

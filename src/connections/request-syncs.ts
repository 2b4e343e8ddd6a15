/**
 * Requests the syncs that a provider's webhook asks for. However many webhooks arrive, also replayed ones whose signatures
 * are good: only a few syncs of a connection are due at once, and what is requested beyond them is one sync at the end of
 * the window. So no genuine webhook is without effect.
 */
import type { ConnectionId } from '#kernel/ids.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { ActionDeps } from './deps.ts'

/** Of one connection. A link is followed by a few webhooks within a minute. */
const maxAtOnce = 3
const windowMs = 5 * 60_000

/** When the sync of each connection is due. */
export type SyncPlan = Map<ConnectionId, number>

/** To be made before the transaction that requests them: the windows are no part of the store. */
export async function planSyncs(
  { clock, windows }: Pick<ActionDeps, 'clock' | 'windows'>,
  rows: readonly ConnectionRow[],
): Promise<SyncPlan> {
  const plan: SyncPlan = new Map()
  for (const { id } of rows) {
    const { allowed, resetMs } = await windows.take(`provider-sync:${id}`, maxAtOnce, windowMs)
    plan.set(id, clock.now() + (allowed ? 0 : resetMs))
  }
  return plan
}

/** A sync reads the connection, its accounts and its rows; however often it is requested, it runs once. */
export async function requestSyncs(tx: StoreRows, plan: SyncPlan): Promise<void> {
  for (const [id, at] of plan) await tx.syncs.request(id, { at, reason: 'provider' })
}

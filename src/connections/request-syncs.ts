/**
 * Requests the syncs that a provider's webhook asks for. Their number is bounded, however many webhooks
 * arrive, replayed ones with good signatures too: after a few runs within minutes the next one is due later.
 * So no webhook is without effect.
 */
import { minuteMs } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { ActionOptions } from './options.ts'

/** Runs of one connection by webhooks; one event is often several of them, read by one or two runs. */
const maxRuns = 5
const withinMs = 5 * minuteMs
/** Runs for other reasons may lie between them. */
const looks = 10

/** A sync reads connection, accounts and rows; however often it is requested, it runs once. */
export async function requestSyncs(
  { clock }: Pick<ActionOptions, 'clock'>,
  { syncs }: Pick<StoreRows, 'syncs'>,
  rows: readonly ConnectionRow[],
): Promise<void> {
  const now = clock.now()
  for (const { id } of rows) {
    const runs = await syncs.listRuns(id, looks)
    const earlier = runs.filter(({ reason }) => reason === 'provider')[maxRuns - 1]
    const at = Math.max(now, Math.min(earlier?.startedAt ?? now - withinMs, now) + withinMs)
    await syncs.request(id, { at, reason: 'provider' })
  }
}

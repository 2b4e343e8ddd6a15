/** Reads the events of syncs as a receiver would that keeps every digit. */
import { z } from 'zod'
import { TradesSynced, TransactionsSynced } from '#contract/events.ts'
import { parseWithBigIntegers } from '#kernel/json.ts'

export const SyncedEvent = z.discriminatedUnion('type', [TransactionsSynced, TradesSynced])
export type SyncedEvent = z.infer<typeof SyncedEvent>

/** The envelope of a sync, each amount exact. @throws SyntaxError or ZodError for anything else. */
export function parseEvent(body: string): SyncedEvent {
  return SyncedEvent.parse(parseWithBigIntegers(body))
}

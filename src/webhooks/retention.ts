/**
 * Destroys data whose retention has ended: payloads with their keys, keys whose event was never accepted,
 * receipts with their attempts (reading R33). Each runs in small batches.
 */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, hourMs, minuteMs } from '#kernel/time.ts'
import type { EventStore } from '#store/ports/events.ts'
import type { WebhooksReport } from './options.ts'

/**
 * Without retention a payload is destroyed on delivery, which for a consumer is its acknowledgement; one that
 * never acknowledges has this time.
 */
const unreadMs = 72 * hourMs
/** The longest time from the sealing of an event to the end of the transaction that accepts it. */
const acceptingMs = hourMs
export const receiptDays = 30
/**
 * One statement takes all of some events. An event has at most 80 deliveries (20 endpoints, at each its own
 * and three replays), with ten attempts each by default.
 */
const batchEvents = 10
const batchKeys = 200
const maxBatches = 1000

export interface RetentionOptions {
  readonly events: Pick<EventStore, 'shred' | 'sweepKeys' | 'sweepReceipts'>
  readonly clock: Clock
  /** `EVENT_RETENTION_HOURS`; 0: as soon as nothing of the event is pending. */
  readonly retentionHours: number
  readonly report: Pick<WebhooksReport, 'shredded'>
}

/** Runs every minute; without retention every few seconds. */
export function makeRetention(options: RetentionOptions): PeriodicTask {
  const { events, clock, retentionHours, report } = options
  return {
    name: 'event-retention',
    everyMs: retentionHours === 0 ? 2000 : minuteMs,
    firstRun: 'at_once',
    async run(stop) {
      const bounds = { maxBatches, stop }
      const shred = async () => {
        const now = clock.now()
        const acceptedBefore = now - retentionHours * hourMs
        const unread = retentionHours === 0 ? { unreadBefore: now - unreadMs } : {}
        const count = await events.shred({ acceptedBefore, ...unread, now, limit: batchEvents })
        report.shredded(count)
        return count
      }
      await runInBatches(shred, bounds)
      const ago = (ms: number, limit: number) => ({ before: clock.now() - ms, limit })
      await runInBatches(() => events.sweepKeys(ago(acceptingMs, batchKeys)), bounds)
      const receipts = () => events.sweepReceipts(ago(receiptDays * 24 * hourMs, batchEvents))
      await runInBatches(receipts, bounds)
    },
  }
}

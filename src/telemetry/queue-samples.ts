/**
 * The lengths of the queues of all processes together, over a day: a look every five minutes, kept in the
 * memory of this process. Numbers alone.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, minuteMs, toIso } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'

export interface QueueSample {
  readonly at: string
  /** Syncs that are due and not running. */
  readonly syncsDue: number
  /** Deliveries that have not ended. */
  readonly deliveriesPending: number
  readonly mailsWaiting: number
}

export interface QueueSamples {
  /** The present lengths first, then those of the last day, the newest first. */
  read(): Promise<readonly QueueSample[]>
  readonly task: PeriodicTask
}

export interface QueueSamplesOptions {
  readonly store: Pick<Store, 'syncs' | 'deliveries' | 'mails'>
  readonly clock: Clock
}

const everyMs = 5 * minuteMs
/** A day of them. */
const mostKept = 288

/** Keeps nothing before the task runs. */
export function makeQueueSamples({ store, clock }: QueueSamplesOptions): QueueSamples {
  let kept: readonly QueueSample[] = []
  async function look(): Promise<QueueSample> {
    const now = clock.now()
    const { due: syncsDue } = await store.syncs.readBacklog(now)
    const { pending: deliveriesPending } = await store.deliveries.readBacklog(now)
    const { waiting: mailsWaiting } = await store.mails.readBacklog(now)
    return { at: toIso(now), syncsDue, deliveriesPending, mailsWaiting }
  }
  return {
    read: async () => [await look(), ...kept],
    task: {
      name: 'queue-samples',
      everyMs,
      firstRun: 'after_wait',
      async run() {
        kept = [await look(), ...kept].slice(0, mostKept)
      },
    },
  }
}

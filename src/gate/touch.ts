/** Records when a key, an agent or a program was used last: beside its request, at most once a minute. */
import { LRUCache } from 'lru-cache'
import { atMost } from '#kernel/at-most.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'

const maxRemembered = 10_000

export interface TouchOptions {
  readonly clock: Clock
  /** A background write failed: log and count it; the request continues. */
  readonly onBackgroundFailure: (task: string, error: unknown) => void
}

export type Touch<Id> = (id: Id, write: (now: number) => Promise<void>) => void

/** @param task what a failed write is reported as. */
export function makeTouch<Id extends string>(
  task: string,
  { clock, onBackgroundFailure }: TouchOptions,
): Touch<Id> {
  const touched = new LRUCache<Id, number>(atMost(maxRemembered))
  return (id, write) => {
    const now = clock.now()
    if (now < (touched.get(id) ?? Number.NEGATIVE_INFINITY) + minuteMs) return
    touched.set(id, now)
    write(now).catch((error: unknown) => onBackgroundFailure(task, error))
  }
}

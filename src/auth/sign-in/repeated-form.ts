/**
 * A form that creates something carries a value made for it alone. Sent twice (a double click, a reload, two
 * processes) with the same fields, it is carried out once. One that was refused or failed may be sent
 * again.
 */
import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WindowStore } from '#fast/port.ts'
import { type NotRun, runOnce } from '#fast/run-once.ts'
import type { UserId } from '#kernel/ids.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'

const keptMs = 10 * minuteMs
/** Longer than the store takes to make or refuse a change. */
const claimMs = minuteMs
/** How long a form waits for the one like it that was sent first. */
const waits = { most: 20, everyMs: 100 }

/** The value for the hidden field `once` of one showing of a form. */
export const makeOnce = (): string => randomUUID()

interface SentForm<T> {
  readonly userId: UserId
  readonly form: URLSearchParams
  /** False for a result by which nothing was made. */
  readonly isDone: (result: T) => boolean
}

/**
 * Carries out a form, unless this person sent one with the same `once` and fields that was carried out within
 * ten minutes, or still is.
 */
export type RunIdempotent = <T>(sent: SentForm<T>, work: () => Promise<T>) => Promise<T | NotRun>

export function makeRunIdempotent(options: {
  readonly windows: WindowStore
  readonly clock: Clock
}): RunIdempotent {
  const { windows, clock } = options
  return async ({ userId, form, isDone }, work) => {
    // Programs that fill in the fields themselves send none, and may repeat themselves.
    if ((form.get('once') ?? '') === '') return work()
    const digest = hash('sha256', form.toString(), 'base64url')
    const key = `form-once:${userId}:${digest}` as const
    const once = { windows, clock, key, claimMs, keptMs, isDone }
    for (let waited = 0; ; waited += 1) {
      const ended = await runOnce(once, work)
      if (ended !== 'under_way' || waited === waits.most) return ended
      await sleep(waits.everyMs)
    }
  }
}

/** The answer of one request for events: what there is, or what comes while it waits. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FollowedBatch, Following } from './follow-events.ts'

export interface AnswerOptions {
  readonly waitMs: number
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Throws when the caller may not read any more: rows may have changed during the wait. */
  readonly recheck: () => Promise<void>
}

export interface EventsAnswer {
  /** The reply as JSON, each event byte for byte as it was accepted. */
  readonly body: Uint8Array
  readonly waitedMs: number
}

/** Who does not wait gets an answer after this time, even where no event is seen yet. */
const longestReadMs = 2000

/** Leaves the following when it is done. */
export async function answerEvents(
  following: Following,
  { waitMs, signal, recheck }: AnswerOptions,
): Promise<EventsAnswer> {
  const leave = () => following.leave()
  signal.addEventListener('abort', leave, { once: true })
  const endsAt = performance.now() + waitMs
  const readsUntil = performance.now() + Math.max(waitMs, longestReadMs)
  let waitedMs = 0
  try {
    for (;;) {
      signal.throwIfAborted()
      const batch = await following.read()
      const from = performance.now()
      if (batch.events.length > 0) return { body: toBody(batch), waitedMs }
      // Events that the caller does not see are passed over.
      if (batch.isMore && from < readsUntil) {
        await nextTurn()
        continue
      }
      if (from >= endsAt) return { body: toBody(batch), waitedMs }
      const woken = await following.wait(endsAt - from)
      waitedMs += performance.now() - from
      signal.throwIfAborted()
      if (woken === 'ended') return { body: toBody(batch), waitedMs }
      if (woken !== 'time') await recheck()
    }
  } finally {
    signal.removeEventListener('abort', leave)
    following.leave()
  }
}

/** Many may wait for the same events: who gets the same batch gets the same bytes, which exist once. */
const bodies = new WeakMap<FollowedBatch, Uint8Array>()

const toBody = (batch: FollowedBatch): Uint8Array =>
  bodies.getOrInsertComputed(batch, () => writeBody(batch))

/** Parsed and written again, an amount beyond 2^53 would be another one. */
function writeBody({ events, next }: FollowedBatch): Uint8Array {
  const comma = Buffer.from(',')
  const rows = events.flatMap(({ body }, index) => (index === 0 ? [body] : [comma, body]))
  return Buffer.concat([Buffer.from('{"data":['), ...rows, Buffer.from(`],"next":"${next}"}`)])
}

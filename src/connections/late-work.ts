/**
 * Work at a provider that a person's request begins and does not wait for to its end: providers may take a
 * minute. The request is answered after a moment while the work goes on; a failure after that is reported.
 * The end of the process waits for it.
 */
import { ProcessStopping } from '#kernel/process-stopping.ts'

export interface LateReport {
  /** Work that a person began failed after their answer. `what`: the work, with the id that it concerns. */
  failedLate(event: { readonly what: string; readonly error: unknown }): void
}

export interface LateWork {
  /**
   * True when `work` has ended within `waitMs`, a moment where absent; false: it goes on. Where work with the
   * same key is under way, that one is waited for instead. @throws what `work` throws within that time.
   */
  begin(key: string, work: (stop: AbortSignal) => Promise<void>, waitMs?: number): Promise<boolean>
  /** Waits so long for work under way, then aborts its calls to providers; resolves when all has ended. */
  close(graceMs: number): Promise<void>
}

/** Most providers answer within it; a browser shows nothing new meanwhile. */
const momentMs = 2000

/** Each work is bounded by the time of its action, and its number by the limits of what people may begin. */
export function makeLateWork(report: LateReport): LateWork {
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()

  function start(key: string, work: (stop: AbortSignal) => Promise<void>): Promise<void> {
    const started = work(stopping.signal).finally(() => running.delete(key))
    running.set(key, started)
    return started
  }

  return {
    async begin(what, work, waitMs = momentMs) {
      const joined = running.get(what)
      const started = joined ?? start(what, work)
      if (await endsWithin(waitMs, started)) return true
      if (joined === undefined) {
        started.catch((error: unknown) => report.failedLate({ what, error }))
      }
      return false
    },
    async close(graceMs) {
      const ends = () => Promise.allSettled(running.values())
      await endsWithin(graceMs, ends())
      stopping.abort(new ProcessStopping())
      await ends()
    },
  }
}

/** @throws what `work` throws meanwhile. */
async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: isOver, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, ms, false)
  try {
    return await Promise.race([isOver, work.then(() => true)])
  } finally {
    clearTimeout(timer)
  }
}

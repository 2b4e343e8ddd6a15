/** The broom for sessions that have ended: small batches, once an hour. Whoever starts it stops it. */
import type { Sessions } from './sessions.ts'

export interface SessionSweep {
  /** No further sweep; resolves when the one under way has ended. */
  stop(): Promise<void>
}

const defaultEveryMs = 60 * 60_000
/** Batches in one sweep, each bounded by the store; what is left waits for the next. */
const maxBatches = 100

/** Sweeps now and every `everyMs` (an hour). A sweep that fails is reported, and the next one comes. */
export function startSessionSweep(
  sessions: Pick<Sessions, 'sweep'>,
  options: { readonly onFailure: (error: unknown) => void; readonly everyMs?: number },
): SessionSweep {
  let stopped = false
  let current: Promise<void> = Promise.resolve()

  async function sweep(): Promise<void> {
    for (let batch = 0; batch < maxBatches && !stopped; batch += 1) {
      if ((await sessions.sweep()) === 0) return
    }
  }
  const run = () => {
    current = current.then(sweep).catch(options.onFailure)
  }
  run()
  const timer = setInterval(run, options.everyMs ?? defaultEveryMs)
  timer.unref()
  return {
    async stop() {
      stopped = true
      clearInterval(timer)
      await current
    },
  }
}

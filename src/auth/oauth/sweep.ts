/** The broom: deletes what has expired, in small transactions, now and then. */
import type { Clock } from '#kernel/time.ts'
import type { OAuthStore } from '#store/oauth-port.ts'

export interface SweepDeps {
  readonly store: OAuthStore
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

export interface Sweep {
  run(): Promise<void>
  /** No further sweep; resolves when the one under way has ended. */
  stop(): Promise<void>
}

const everyMs = 10 * 60_000
const batchRows = 500
/** With ten minutes between sweeps this keeps up with a hundred new rows a second. */
const maxBatches = 150

/** Sweeps every ten minutes until it is stopped. A sweep that fails is reported, and the next one comes. */
export function startSweep({ store, clock, onFailure }: SweepDeps): Sweep {
  let stopped = false
  let current: Promise<void> = Promise.resolve()
  async function run(): Promise<void> {
    for (let batch = 0; batch < maxBatches && !stopped; batch += 1) {
      if ((await store.sweep(clock.now(), batchRows)) === 0) return
    }
  }
  const timer = setInterval(() => {
    current = run().catch(onFailure)
  }, everyMs)
  timer.unref()
  return {
    run,
    async stop() {
      stopped = true
      clearInterval(timer)
      await current
    },
  }
}

/** The runs in progress in this process, scheduled or requested, so that a stop can wait for them and then abort them. */
import type { Provider } from '#contract/resources.ts'
import type { SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import type { RunOptions, RunSync, SyncEnd } from './run-sync.ts'

export interface Runs {
  /** Runs a claimed sync and also passes its end to `onEnd`. */
  start(sync: ClaimedSync, note?: RunOptions['note']): Promise<SyncEnd>
  count(): number
  /** Providers with at least this many runs in progress. */
  listBusy(runsOfOne: number): readonly Provider[]
  /** Aborted when the grace of `close` is over. */
  readonly stop: AbortSignal
  /** Runs in progress have `graceMs` to end, then they are aborted. Resolves when none is left. */
  close(graceMs: number): Promise<void>
}

interface RunsOptions {
  readonly run: RunSync
  readonly onEnd: () => void
}

interface Running {
  readonly provider: Provider
  readonly ended: Promise<SyncEnd>
}

export function makeRuns({ run, onEnd }: RunsOptions): Runs {
  const stopping = new AbortController()
  const running = new Map<SyncRunId, Running>()

  async function track(sync: ClaimedSync, note: RunOptions['note']): Promise<SyncEnd> {
    try {
      return await run(sync, { stop: stopping.signal, ...(note === undefined ? {} : { note }) })
    } finally {
      running.delete(sync.runId)
      onEnd()
    }
  }

  return {
    start(sync, note) {
      const ended = track(sync, note)
      running.set(sync.runId, { provider: sync.provider, ended })
      return ended
    },
    count: () => running.size,
    listBusy(runsOfOne) {
      const byProvider = Map.groupBy(running.values(), ({ provider }) => provider)
      return [...byProvider].filter(([, runs]) => runs.length >= runsOfOne).map(([name]) => name)
    },
    stop: stopping.signal,
    async close(graceMs) {
      const abort = () => stopping.abort(new Error('this process is stopping'))
      const timer = setTimeout(abort, graceMs)
      await Promise.allSettled([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
      abort()
    },
  }
}

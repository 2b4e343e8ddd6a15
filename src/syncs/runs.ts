/** The runs in progress in this process, scheduled or requested, for a stop that waits and then aborts. */
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import { makeRunPlaces, type RunPlace, type RunPlaces } from './run-places.ts'
import type { RunOptions, RunSync, SyncEnd } from './run-sync.ts'

export interface Runs {
  /** Each run has one of these; a sync is claimed only with a place in hand. */
  readonly places: Pick<RunPlaces, 'take' | 'wait'>
  /** Runs a claimed sync, then frees its place and passes its end to `onEnd`. */
  start(sync: ClaimedSync, begin: BeginOptions): Promise<SyncEnd>
  /** Frees a place that was waited for and not needed. */
  giveBack(place: RunPlace): void
  /** The run of this connection that is in progress here; null: there is none. */
  find(connectionId: ConnectionId): SyncRunId | null
  /** Providers with at least this many runs in progress. */
  listBusy(runsOfOne: number): readonly Provider[]
  /** Aborted when the grace of `close` is over. */
  readonly stop: AbortSignal
  /** Runs in progress have `graceMs` to end, then they are aborted. Resolves when none is left. */
  close(graceMs: number): Promise<void>
}

export interface BeginOptions {
  readonly place: RunPlace
  readonly note?: RunOptions['note']
}

interface RunsOptions {
  readonly run: RunSync
  readonly onEnd: () => void
}

interface Running {
  readonly provider: Provider
  readonly connectionId: ConnectionId
  readonly ended: Promise<SyncEnd>
}

/** Limits of this process; each caller who waits holds a request of the admin listener. */
const limits = { inAll: 4, waiting: 100 }

export function makeRuns({ run, onEnd }: RunsOptions): Runs {
  const stopping = new AbortController()
  const places = makeRunPlaces(limits)
  const running = new Map<SyncRunId, Running>()

  async function track(sync: ClaimedSync, { place, note }: BeginOptions): Promise<SyncEnd> {
    try {
      return await run(sync, { stop: stopping.signal, ...(note === undefined ? {} : { note }) })
    } finally {
      running.delete(sync.runId)
      place.release()
      onEnd()
    }
  }

  return {
    places,
    start(sync, begin) {
      const { provider, connectionId } = sync
      const ended = track(sync, begin)
      running.set(sync.runId, { provider, connectionId, ended })
      return ended
    },
    giveBack(place) {
      place.release()
      onEnd()
    },
    find(connectionId) {
      const found = [...running].find(([, one]) => one.connectionId === connectionId)
      return found === undefined ? null : found[0]
    },
    listBusy(runsOfOne) {
      const byProvider = Map.groupBy(running.values(), ({ provider }) => provider)
      return [...byProvider].filter(([, runs]) => runs.length >= runsOfOne).map(([name]) => name)
    },
    stop: stopping.signal,
    async close(graceMs) {
      places.close()
      const abort = () => stopping.abort(new Error('this process is stopping'))
      const timer = setTimeout(abort, graceMs)
      await Promise.allSettled([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
      abort()
    },
  }
}

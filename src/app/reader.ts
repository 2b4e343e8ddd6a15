/**
 * Assembles a read from resource to provider: the part that every read uses, and that reports what reads find
 * out about consents. The caller closes it before the store.
 */
import { makeConsentMonitor } from '#connections/consent-monitor.ts'
import { bySystem } from '#contract/actor.ts'
import { openWindows } from '#paging/windows.ts'
import { openPendingMemories } from '#resources/pending/pending-memory.ts'
import { makeRead } from '#resources/read.ts'
import type { AssemblyOptions } from './foundation.ts'

/** The bound of provider pages in memory, in addition to the answer cache. */
const maxPageBytes = 32 * 1024 * 1024

export function makeReader(options: AssemblyOptions) {
  const { store, kv, clock, reports } = options
  const { snapshots, anchors, cache: bodies } = kv
  const shared = snapshots === null || anchors === null ? null : { snapshots, anchors, bodies }
  const windows = openWindows({ maxBytes: maxPageBytes, clock, shared })
  const memories = openPendingMemories({
    key: options.sealer.derive('pending'),
    clock,
    shared: anchors,
  })
  const monitor = makeConsentMonitor({
    store,
    clock,
    windows: kv.windows,
    onFailure: (error) => reports.backgroundFailure('consent-news', error),
  })
  const read = makeRead({
    store,
    adapters: monitor.watch(options.adapters),
    guard: options.guard,
    windows,
    memories,
    clock,
    refreshAccounts: async (connectionId, { priority, signal }) => {
      await options.connections.refreshConnection(bySystem, connectionId, {
        priority,
        stop: signal,
      })
    },
    onBalanceFailure: reports.balanceFailure,
  })
  return {
    read,
    async close() {
      windows.close()
      await monitor.close()
    },
  }
}

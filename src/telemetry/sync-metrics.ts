/** The metrics of syncs: runs and what they found, by provider; backlog-metrics.ts has what is due. No label names a connection or a row. */

import type { SyncReport } from '#syncs/syncs.ts'
import { Counter, Histogram, type Registry } from './metrics-library.ts'

/** A run of a few pages takes about a second, one of years of history minutes. */
const runBuckets = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const countedRows = ['new', 'updated', 'gone', 'rounded'] as const

/** Adds them to `registry`. */
export function makeSyncMetrics(registry: Registry): SyncReport {
  const registers = [registry]
  const runs = new Counter({
    name: 'tributary_syncs_total',
    help: 'Sync runs that ended, by provider and result.',
    labelNames: ['provider', 'result'],
    registers,
  })
  const rows = new Counter({
    name: 'tributary_sync_rows_total',
    help: 'Rows that syncs found new, updated or gone, and amounts that events round.',
    labelNames: ['provider', 'kind'],
    registers,
  })
  const seconds = new Histogram({
    name: 'tributary_sync_duration_seconds',
    help: 'One sync run from its claim to its end.',
    labelNames: ['provider'],
    buckets: runBuckets,
    registers,
  })
  return {
    ended({ provider, result, durationMs, counts }) {
      runs.inc({ provider, result })
      seconds.observe({ provider }, durationMs / 1000)
      for (const kind of countedRows) {
        if (counts[kind] > 0) rows.inc({ provider, kind }, counts[kind])
      }
    },
  }
}

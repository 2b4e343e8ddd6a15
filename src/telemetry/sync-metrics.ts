/**
 * The metrics of syncs: runs and what they found, by provider; backlog-metrics.ts has what is due. No label
 * names a connection or a row.
 */

import type { SyncReport } from '#syncs/syncs.ts'
import type { Registry } from './registry.ts'

/** A run of a few pages takes about a second, one of years of history minutes. */
const runBounds = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const countedRows = ['new', 'updated', 'gone', 'rounded'] as const

/** Adds them to `registry`. */
export function makeSyncMetrics(registry: Registry): Pick<SyncReport, 'ended'> {
  const runs = registry.counter(
    'tributary_syncs_total',
    'Sync runs that ended, by provider and result.',
    ['provider', 'result'],
  )
  const rows = registry.counter(
    'tributary_sync_rows_total',
    'Rows that syncs found new, updated or gone, and amounts that events round.',
    ['provider', 'kind'],
  )
  const seconds = registry.histogram({
    name: 'tributary_sync_duration_seconds',
    help: 'One sync run from its claim to its end.',
    bounds: runBounds,
    labels: ['provider'],
  })
  return {
    ended({ provider, result, durationMs, counts }) {
      runs.add({ provider, result })
      seconds.observe({ provider }, durationMs / 1000)
      for (const kind of countedRows) {
        if (counts[kind] > 0) rows.add({ provider, kind }, counts[kind])
      }
    },
  }
}

/**
 * Gives back the memory that only the start needed. A start allocates a lot and keeps little of it; the
 * runtime would hold the emptied pages for as long as the process is quiet. A full collection that is told to
 * shrink returns them; nothing is answered meanwhile (docs/performance.md), so it waits for a quiet second,
 * and a busy process has none.
 */

/** After the start, and after the first syncs, which are due at once. */
const delaysMs = [2000, 20_000]
const watchMs = 1000
/** The share of that second in which the process may have worked. */
const quietShare = 0.1
/** Then it is busy, and needs its memory. */
const mostWatches = 30

export type Collect = () => void

/** Full collection with the runtime's flag `--expose-gc`; null without it. */
export function findCollect(): Collect | null {
  const { gc } = globalThis
  if (gc === undefined) return null
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

export function settleMemoryLater(
  collect: Collect | null,
  times: { readonly delaysMs: readonly number[]; readonly watchMs: number } = { delaysMs, watchMs },
): void {
  if (collect === null) return
  for (const delayMs of times.delaysMs) {
    setTimeout(() => collectWhenQuiet(collect, times.watchMs, mostWatches), delayMs).unref()
  }
}

function collectWhenQuiet(collect: Collect, ms: number, watches: number): void {
  const before = performance.eventLoopUtilization()
  const look = () => {
    if (performance.eventLoopUtilization(before).utilization <= quietShare) collect()
    else if (watches > 1) collectWhenQuiet(collect, ms, watches - 1)
  }
  setTimeout(look, ms).unref()
}

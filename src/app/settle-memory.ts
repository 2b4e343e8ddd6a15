/**
 * Gives back the memory that only the start needed. A start allocates a lot and keeps little of it; the runtime would
 * hold the emptied pages for as long as the process is quiet. A full collection that is told to shrink returns them;
 * docs/performance.md tells how much, and how long it takes.
 */

/** After the start, and after the first syncs, which are due at once. */
const delaysMs = [2000, 20_000]

/** Without the runtime's flag `--expose-gc` nothing happens. */
export function settleMemoryLater(): void {
  const { gc } = globalThis
  if (gc === undefined) return
  const collect = () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  for (const delayMs of delaysMs) setTimeout(collect, delayMs).unref()
}

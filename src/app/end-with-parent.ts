/**
 * npm runs the service through a shell: a signal to npm ends the shell, which forwards nothing, and the service would
 * keep running without a parent. The same goes for the starter where it stays as the parent (below Node 22.15): whoever kills
 * it would leave the service behind. Without both, a service that is started by hand in the background outlives its shell.
 */
const everyMs = 250

/**
 * Calls `end` once the parent is gone.
 * @param parent its process id.
 */
export function endWithParent(end: () => void, parent: number): void {
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, everyMs)
  watch.unref()
}

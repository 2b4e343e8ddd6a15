/**
 * npm runs the service through a shell: a signal to npm ends the shell, which forwards nothing, and the service would
 * keep running without a parent. For a service under npm alone: one that is started by hand in the background is meant to
 * outlive its shell.
 */
const everyMs = 250

/** Calls `end` once the parent is gone. */
export function endWithParent(end: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, everyMs)
  watch.unref()
}

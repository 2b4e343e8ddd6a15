/**
 * npm runs the service through a shell: a signal to npm ends the shell, which forwards nothing, and the service would
 * keep running without a parent. Only under npm: when started by hand in the background, outliving the shell is intended.
 */
const everyMs = 250

/** Calls `end` once the parent is gone. */
export function endWithParent(end: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, everyMs)
  watch.unref()
}

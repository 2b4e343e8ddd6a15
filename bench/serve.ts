/** The measured side of `child.ts`: reports facts once, then answers questions about this process. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Usage } from './child.ts'

export function serveChild(facts: unknown): void {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  process.on('message', (question) => {
    if (question === 'collect') {
      globalThis.gc?.()
      process.send?.('collected')
      return
    }
    const { user, system } = process.cpuUsage()
    const memory = process.memoryUsage()
    const usage: Usage = {
      cpuMicros: user + system,
      rssBytes: memory.rss,
      heapBytes: memory.heapUsed,
      stallMs: Number.isFinite(loop.max) ? loop.max / 1e6 : 0,
    }
    loop.reset()
    process.send?.(usage)
  })
  // The measuring process ends this one by letting go of it.
  process.on('disconnect', () => process.exit(0))
  process.send?.(facts)
}

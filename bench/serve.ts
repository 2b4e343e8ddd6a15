/** The measured side of `child.ts`: reports facts once, then answers questions about this process. */
import { readFileSync, writeFileSync } from 'node:fs'
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
      peakRssBytes: takePeak(),
      heapBytes: memory.heapUsed,
      stallMs: Number.isFinite(loop.max) ? loop.max / 1e6 : 0,
    }
    loop.reset()
    process.send?.(usage)
  })
  // The measuring process ends this one by disconnecting.
  process.on('disconnect', () => process.exit(0))
  process.send?.(facts)
}

/** Peak memory since the last query; where the system does not report that, since the start. */
function takePeak(): number {
  try {
    const peak = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    // proc(5): writing 5 resets the peak.
    writeFileSync('/proc/self/clear_refs', '5')
    return Number(peak) * 1024
  } catch {
    return process.resourceUsage().maxRSS * 1024
  }
}

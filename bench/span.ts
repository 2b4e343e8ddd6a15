/** What some work of this process takes: wall time, CPU, and the longest stall of the event loop meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Span {
  readonly ms: number
  readonly cpuMs: number
  readonly stallMs: number
}

/** Measures `work`; it begins and ends in a turn of the event loop of its own, so that synchronous work shows as a stall. */
export async function measureSpan(work: () => Promise<unknown>): Promise<Span> {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  // The first sample is taken after one interval.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const [started, before] = [performance.now(), process.cpuUsage()]
  await work()
  const [ms, used] = [performance.now() - started, process.cpuUsage(before)]
  await new Promise((resolve) => setTimeout(resolve, 5))
  await nextTurn()
  loop.disable()
  return { ms, cpuMs: (used.user + used.system) / 1000, stallMs: loop.max / 1e6 }
}

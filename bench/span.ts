/** What some work of this process takes: wall time and CPU; or the longest stall of the event loop meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Span {
  readonly ms: number
  readonly cpuMs: number
}

export interface StallSpan extends Span {
  readonly stallMs: number
}

/** Measures `work`; it begins and ends in a turn of the event loop of its own. */
export async function measureSpan(work: () => Promise<unknown>): Promise<Span> {
  await nextTurn()
  const [started, before] = [performance.now(), process.cpuUsage()]
  await work()
  const [ms, used] = [performance.now() - started, process.cpuUsage(before)]
  return { ms, cpuMs: (used.user + used.system) / 1000 }
}

/**
 * As `measureSpan`, with the longest stall. What watches for stalls wakes the process every millisecond, also while it
 * waits: its CPU time is then part of `cpuMs`.
 */
export async function measureStall(work: () => Promise<unknown>): Promise<StallSpan> {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  // The first sample is taken after one interval.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const span = await measureSpan(work)
  await new Promise((resolve) => setTimeout(resolve, 5))
  await nextTurn()
  loop.disable()
  return { ...span, stallMs: loop.max / 1e6 }
}

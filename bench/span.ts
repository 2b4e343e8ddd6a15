/**
 * What some work of this process takes: wall time and CPU; or the longest stall of the event loop meanwhile.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { basename, join } from 'node:path'
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
  const endProfile = await beginProfile()
  const [started, before] = [performance.now(), process.cpuUsage()]
  await work()
  const [ms, used] = [performance.now() - started, process.cpuUsage(before)]
  await endProfile()
  return { ms, cpuMs: (used.user + used.system) / 1000 }
}

const profileEveryMicros = 200
let profiles = 0

/**
 * With `--profile` (bench/run.ts) each measured work leaves a CPU profile; its figures are then those of a
 * slower process.
 */
async function beginProfile(): Promise<() => Promise<void>> {
  const folder = process.env.BENCH_PROFILE
  if (folder === undefined) return async () => {}
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: profileEveryMicros })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    mkdirSync(folder, { recursive: true })
    profiles += 1
    const name = `${basename(process.argv[1] ?? '', '.ts')}-${process.pid}-${profiles}.cpuprofile`
    writeFileSync(join(folder, name), JSON.stringify(profile))
  }
}

/**
 * As `measureSpan`, with the longest stall. What watches for stalls wakes the process every millisecond, also
 * while it waits: its CPU time is then part of `cpuMs`.
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

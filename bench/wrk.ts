/**
 * The load generator `wrk` in the place of ours (load.ts), where it is installed. It is far faster and sleeps
 * until an answer comes: waking it is work of the server that writes the answer, and a slower server has to
 * wake it more often.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { Child } from './child.ts'
import type { LoadOptions } from './load.ts'
import type { Sample } from './turns.ts'

export const hasWrk = (): boolean => spawnSync('wrk', ['--version']).error === undefined

/** How often its sleeps are read, which are lost with its end. */
const lookMs = 20

/**
 * Puts load on a child and measures: requests per second, CPU per request, and how often wrk slept for each
 * request. It has the core of this process (child.ts).
 */
export async function measureByWrk(
  child: Child<unknown>,
  { port, path, headers = {}, connections, durationMs }: LoadOptions & { readonly path: string },
): Promise<Sample> {
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const seconds = Math.max(1, Math.round(durationMs / 1000))
  // A timeout is no error: where the machine is busy, answers may be late.
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', ...lines]
  const before = await child.usage()
  const wrk = spawn('wrk', [...args, `http://127.0.0.1:${port}${path}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(wrk, 'close')
  let said = ''
  wrk.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  let sleeps = 0
  const looking = setInterval(() => {
    sleeps = Math.max(sleeps, countSleeps(wrk.pid ?? 0))
  }, lookMs)
  await ended
  clearInterval(looking)
  const after = await child.usage()
  const requests = Number(/(\d+) requests in/.exec(said)?.[1])
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1])
  if (!(requests > 0) || /Non-2xx|(?:connect|read|write) [1-9]/.test(said))
    throw new Error(`wrk: ${said}`)
  return {
    requests,
    rate,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
    sleeps: sleeps / requests,
  }
}

/**
 * Voluntary context switches of all its threads (proc(5)); 0 where the system does not tell, or it has ended.
 */
function countSleeps(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((id) => readFileSync(`/proc/${pid}/task/${id}/status`, 'utf8'))
      .map((text) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0))
      .reduce((sum, count) => sum + count, 0)
  } catch {
    return 0
  }
}

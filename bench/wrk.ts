/**
 * The load generator `wrk` in the place of ours (load.ts), where it is installed. It is far faster and sleeps
 * until an answer comes: waking it is work of the server that writes the answer, and a slower server has to
 * wake it more often. How often is not counted: after a look at the processes in `/proc` the system took
 * three seconds for the end of one, which were counted as time of the server.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Child } from './child.ts'
import type { LoadOptions } from './load.ts'
import type { Sample } from './turns.ts'

export const hasWrk = (): boolean => spawnSync('wrk', ['--version']).error === undefined

/**
 * Puts load on a child and measures: requests per second and CPU per request. wrk has the core of this
 * process (child.ts).
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
  await ended
  const after = await child.usage()
  const requests = Number(/(\d+) requests in/.exec(said)?.[1])
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1])
  if (!(requests > 0) || /Non-2xx|(?:connect|read|write) [1-9]/.test(said))
    throw new Error(`wrk: ${said}`)
  return { requests, rate, cpuMicros: (after.cpuMicros - before.cpuMicros) / requests }
}

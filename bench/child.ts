/**
 * Runs what is measured in a process of its own, on a core of its own where `taskset` exists, and asks it for its CPU
 * time and memory. The measured file reports its port with `serveChild`.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

export interface Usage {
  /** Microseconds of CPU since the start, user and system. */
  readonly cpuMicros: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** The longest event-loop stall since the last question, in milliseconds. */
  readonly stallMs: number
}

export interface Child<Facts> {
  readonly facts: Facts
  usage(): Promise<Usage>
  /** Collects garbage, if the child was started with it exposed. */
  collect(): Promise<void>
  stop(): Promise<void>
}

/** Starts `file` (relative to this folder) with the given arguments; resolves when it reported its facts. */
export async function startChild<Facts>(
  file: string,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
): Promise<Child<Facts>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    execArgv: [
      ...(process.env.CHILD_ARGS?.split(' ') ?? []),
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      ...nodeArgs,
    ],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  pin(child)
  const facts = (await answer(child)) as Facts
  return {
    facts,
    usage: async () => {
      child.send('usage')
      return (await answer(child)) as Usage
    },
    collect: async () => {
      child.send('collect')
      await answer(child)
    },
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.disconnect()
      }),
  }
}

/** Server on core 0, load on core 1: otherwise both fight for the same one. */
function pin(child: ChildProcess): void {
  if (availableParallelism() < 2 || child.pid === undefined) return
  spawnSync('taskset', ['-a', '-p', '-c', '0', String(child.pid)], { stdio: 'ignore' })
  spawnSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' })
}

function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null) => reject(new Error(`the measured process ended (${code})`))
    child.once('exit', gone)
    child.once('message', (message) => {
      child.off('exit', gone)
      resolve(message)
    })
  })
}

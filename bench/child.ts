/**
 * Runs the measured program in its own process, on its own core where `taskset` exists, and asks it for its
 * CPU time and memory. The measured file reports its port with `serveChild`.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import serviceEnvironment from '../scripts/service-environment.json' with { type: 'json' }
import serviceFlags from '../scripts/service-flags.json' with { type: 'json' }

export interface Usage {
  /** Microseconds of CPU since the start, user and system. */
  readonly cpuMicros: number
  readonly rssBytes: number
  /** The peak since the last query. */
  readonly peakRssBytes: number
  readonly heapBytes: number
  /** The longest event-loop stall since the last query, in milliseconds. */
  readonly stallMs: number
}

export interface Child<Facts> {
  readonly facts: Facts
  usage(): Promise<Usage>
  /** Collects garbage, if the child was started with it exposed. */
  collect(): Promise<void>
  stop(): Promise<void>
}

export interface ChildOptions {
  /** Its arguments, as in `process.argv`. */
  readonly args?: readonly string[]
  /** With the flags and the environment that `npm start` gives to the service. */
  readonly isService?: boolean
  /**
   * The measured process has core 0 for itself (the default), helper processes are on core 1. `any`: both,
   * where the garbage collector's threads would otherwise disturb the measurement.
   */
  readonly core?: 0 | 1 | 'any'
}

/** Starts `file` (relative to this folder); resolves when it reported its facts. */
export async function startChild<Facts>(
  file: string,
  { args = [], isService = false, core = 0 }: ChildOptions = {},
): Promise<Child<Facts>> {
  const flags = isService ? serviceFlags : []
  const environment = isService ? serviceEnvironment : {}
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    ...toPinned(core, ['--disable-warning=ExperimentalWarning', '--expose-gc', ...flags]),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...environment, ...process.env, NODE_ENV: 'production' },
  })
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

/**
 * Children on core 0, the load generator on core 1: otherwise they compete for one. A child gets its core at
 * the start, since Node then chooses its number of threads.
 */
function toPinned(core: 0 | 1 | 'any', flags: readonly string[]) {
  if (!hasTaskset()) return { execPath: process.execPath, execArgv: [...flags] }
  spawnSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' })
  return {
    execPath: 'taskset',
    execArgv: ['-c', core === 'any' ? '0,1' : String(core), process.execPath, ...flags],
  }
}

function hasTaskset(): boolean {
  if (cpus().length < 2) return false
  return spawnSync('taskset', ['--version'], { stdio: 'ignore' }).error === undefined
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

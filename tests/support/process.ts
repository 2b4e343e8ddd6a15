/**
 * The product as an operator runs it: `src/main.ts` in its own process. The caller that starts it ends it
 * through the handle.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Started {
  readonly child: ChildProcess
  /** Resolves with the standard output when the process is ready; rejects when it ends before. */
  ready(): Promise<string>
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ending>
  /** The value after a label of the start message, e.g. `REST API`. */
  readonly printed: (label: string) => string
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Compiled code is cached between starts, which halves the time of a start; the starter of the tests names
 * the folder.
 */
const { NODE_COMPILE_CACHE } = process.env
export const compileCache: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const deadlineMs = 60_000

/**
 * Starts it with this environment only; free ports by default.
 * @param folder its working directory; then its `.env` is read.
 * @param program another `src/main.ts` than ours.
 * @param openFiles how many files it may open; null: as many as we.
 */
export function startProcess(
  env: Readonly<Record<string, string>>,
  folder?: string,
  program: string = main,
  openFiles: number | null = null,
): Started {
  let stdout = ''
  let stderr = ''
  let onReady: () => void = () => {}
  const limited = ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath, program]
  const [file, args] = openFiles === null ? [process.execPath, [program]] : ['/bin/sh', limited]
  const child = spawn(file, args, {
    ...(folder === undefined ? {} : { cwd: folder }),
    env: {
      ...(folder === undefined ? { NODE_ENV: 'test', PORT: '0', ADMIN_PORT: '0' } : {}),
      PATH: process.env.PATH ?? '',
      ...compileCache,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (isReady(stdout)) onReady()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return {
    child,
    ended,
    ready: () =>
      new Promise((resolve, reject) => {
        onReady = () => resolve(stdout)
        if (isReady(stdout)) onReady()
        void ended.then((ending) => reject(new Error(`it ended: ${JSON.stringify(ending)}`)))
      }),
    printed(label) {
      const text = new RegExp(`^ +${label} +(\\S+)`, 'm').exec(stdout)?.[1]
      if (text === undefined) throw new Error(`${label} was not printed: ${stdout}`)
      return text
    },
  }
}

/** The start message ends with a blank line. */
function isReady(stdout: string): boolean {
  const start = stdout.indexOf('Tributary is ready')
  return start !== -1 && /Try it:|Next: /.test(stdout.slice(start)) && stdout.endsWith('\n')
}

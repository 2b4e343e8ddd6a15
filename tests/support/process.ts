/**
 * The product as an operator runs it: `src/main.ts` in a process of its own. Whoever starts one ends it, by its own
 * handle.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Started {
  readonly child: ChildProcess
  /** Resolves with the standard output when the process has said that it is ready; rejects when it ends before. */
  ready(): Promise<string>
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ending>
  /** What stands behind a word of the welcome, e.g. `REST API`. */
  readonly printed: (label: string) => string
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const patienceMs = 60_000

/** Starts it with this environment and nothing of ours; free ports unless told otherwise. */
export function startProcess(env: Readonly<Record<string, string>>): Started {
  let stdout = ''
  let stderr = ''
  let onReady: () => void = () => {}
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH ?? '', PORT: '0', ADMIN_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
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

/** The welcome ends with a blank line of its own. */
function isReady(stdout: string): boolean {
  const start = stdout.indexOf('Tributary is ready')
  return start !== -1 && /Try it:|Next: /.test(stdout.slice(start)) && stdout.endsWith('\n')
}

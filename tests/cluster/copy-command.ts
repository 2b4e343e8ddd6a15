/** The command `tributary store copy` as a process of its own, as an operator starts it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compileCache } from '#tests/support/process.ts'

const command = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

export interface CopyEnding {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CopyProcess {
  readonly child: ChildProcess
  readonly ended: Promise<CopyEnding>
}

/** Starts it with this environment and nothing of ours but the path; the URL is sent to standard input. */
export function startCopy(
  databaseUrl: string,
  environment: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): CopyProcess {
  const args = ['--disable-warning=ExperimentalWarning', command, 'store', 'copy', '--to', '-']
  const child = spawn(process.execPath, [...args, ...flags], {
    env: { PATH: process.env.PATH ?? '', NODE_ENV: 'test', ...compileCache, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  // A killed process does not read it.
  child.stdin.on('error', () => {})
  child.stdin.end(`${databaseUrl}\n`)
  const ended = new Promise<CopyEnding>((resolve) => {
    child.once('close', (code) => resolve({ code, ...output }))
  })
  return { child, ended }
}

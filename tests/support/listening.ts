/** `tributary webhooks listen` in its own process, and what it prints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { compileCache } from './process.ts'

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

/** The test ends it with a signal. */
export function startListening(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
) {
  const child = spawn(process.execPath, [main, 'webhooks', 'listen', ...args], {
    env: { PATH: process.env.PATH, NODE_ENV: 'test', ...compileCache, ...environment },
    cwd: tmpdir(),
    timeout: 120_000,
  })
  const lines: string[] = []
  let err = ''
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, err }))
  return { child, lines, ended }
}

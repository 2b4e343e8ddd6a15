/** The command `tributary` against a running service: as a process of its own, and in that of the test. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runCommand as runHere } from '#tests/support/command.ts'
import { compileCache } from '#tests/support/process.ts'
import type { Service } from '#tests/support/service.ts'

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export function startCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [main, ...args], {
    env: { NODE_ENV: 'test', PATH: process.env.PATH, ...compileCache, ...environment },
  })
}

export function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Outcome> {
  const child = startCommand(args, environment)
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const output = { out: '', err: '' }
  child.stdout?.on('data', (chunk: Buffer) => {
    output.out += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output.err += chunk.toString()
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...output }))
  })
}

/** `tributary sandbox …` in this process against a service: for people, as JSON, and what it refuses. */
export function commandsOf(service: Service) {
  const environment = { ADMIN_URL: service.adminUrl, ADMIN_TOKEN: service.adminToken }
  const run = (...words: string[]) => runHere(['sandbox', ...words], { environment })
  return {
    run,
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
    async json(...words: string[]): Promise<any> {
      const { code, out, err } = await run(...words, '--json')
      assert.deepEqual([code, err], [0, ''])
      assert.match(out, /^[^\n]*\n$/)
      return JSON.parse(out)
    },
    /** The details of a refusal. */
    async refusal(...words: string[]): Promise<readonly string[]> {
      const { code, out, err } = await run(...words, '--json')
      assert.deepEqual([code, out], [1, ''])
      const { error } = JSON.parse(err)
      assert.equal(error.code, 'invalid_params')
      return error.details
    },
  }
}

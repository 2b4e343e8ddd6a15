/**
 * `npm run check`: all checks of the tree that take less than a minute together. One line per step; a step's output is
 * shown only when it fails. All steps run, so that one run shows every problem; it writes nothing.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The file behind a package's command; run with this same runtime, not with the `node` on the path. */
function commandOf(name: string, command: string): string {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>
  }
  const file = typeof bin === 'string' ? bin : bin[command]
  if (file === undefined) throw new Error(`${name} has no command ${command}`)
  return join(folder, file)
}

const stepTimeoutMs = 300_000

const steps: readonly (readonly [string, readonly string[]])[] = [
  ['format and lint', [commandOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings']],
  ['types', [commandOf('typescript', 'tsc'), '--project', '.']],
  ['dead code', [commandOf('knip', 'knip'), '--no-progress']],
  ['openapi drift', ['scripts/openapi.ts', '--check']],
  ['configuration drift', ['scripts/configuration.ts', '--check']],
  ['tidy and unit tests', ['scripts/test.ts', 'unit', '--test-reporter=dot']],
]

/** True when the step succeeded. */
function run(name: string, args: readonly string[]): boolean {
  const started = performance.now()
  const result = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: stepTimeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const ok = result.status === 0
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  if (ok) return true
  // The progress dots add nothing to the list of failures below them.
  console.log(`${result.stdout}${result.stderr}`.replace(/^[.X]+\n/gm, '').trimEnd())
  if (result.error !== undefined) console.log(result.error.message)
  return false
}

const failed = steps.filter(([name, args]) => !run(name, args)).map(([name]) => name)
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

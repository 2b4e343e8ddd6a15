/**
 * `npm run check`: all checks of the tree that take less than a minute together. One line per step; a step's
 * output is shown only when it fails. All steps run, so that one run shows every problem; it writes nothing.
 * `--without-tests` leaves out the unit tests.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

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

/** A busy machine takes several times as long as a quiet one. */
const stepTimeoutMs = 900_000
const stopTimeoutMs = 20_000
const maxOutputLength = 1_000_000

function report(reporter: string): readonly string[] {
  return [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout']
}

const steps: readonly (readonly [string, readonly string[]])[] = [
  ['types', [commandOf('typescript', 'tsc'), '--project', '.']],
  ['format and lint', [commandOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings']],
  ['dead code', [commandOf('knip', 'knip'), '--no-progress']],
  ['openapi drift', ['scripts/openapi.ts', '--check']],
  ['configuration drift', ['scripts/configuration.ts', '--check']],
  ['drift of the clients', ['scripts/sdk.ts', '--check']],
]

const tests: readonly [string, readonly string[]] = [
  'tidy and unit tests',
  ['scripts/test.ts', 'unit', ...report('dot'), ...report('./scripts/unfinished-tests.ts')],
]

/** True when the step succeeded. A step that is stopped may still say what it was doing. */
async function run(name: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now()
  const step = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [step.stdout, step.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-maxOutputLength)
    })
  }
  const late = setTimeout(() => step.kill('SIGTERM'), stepTimeoutMs)
  const lost = setTimeout(() => step.kill('SIGKILL'), stepTimeoutMs + stopTimeoutMs)
  const [code, signal] = (await once(step, 'close')) as [number | null, NodeJS.Signals | null]
  const seconds = (performance.now() - started) / 1000
  for (const timer of [late, lost]) clearTimeout(timer)
  const ok = code === 0
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds.toFixed(1)} s)`)
  if (ok) return true
  // The progress dots add nothing to the list of failures below them.
  console.log(output.replace(/^[.X]+/gm, '').trim())
  if (seconds * 1000 >= stepTimeoutMs) {
    console.log(`stopped after ${stepTimeoutMs / 1000} s; the machine may be too busy`)
  } else if (signal !== null) console.log(`ended by ${signal}`)
  return false
}

const { values } = parseArgs({ options: { 'without-tests': { type: 'boolean', default: false } } })
const failed: string[] = []
/** Takes steps until there are none. */
async function runNext(left: (readonly [string, readonly string[]])[]): Promise<void> {
  for (let step = left.shift(); step !== undefined; step = left.shift()) {
    if (!(await run(...step))) failed.push(step[0])
  }
}

// Most steps use one core. The tests use all, so they come alone.
const waiting = [...steps]
await Promise.all([runNext(waiting), runNext(waiting)])
if (!values['without-tests']) await runNext([tests])
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

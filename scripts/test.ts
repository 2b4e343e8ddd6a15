/**
 * Runs one of the test suites with node:test: `unit` (beside the code), `conformance`, `cluster`, `browser`,
 * `sdk` (as it is installed, with Python), `release` (on real git), or all that need nothing but npm (no
 * argument).
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { openMemoryFolder } from './memory-folder.ts'
import { groupFiles } from './test-groups.ts'

const suites: Record<string, string[]> = {
  all: [
    'src/**/*.test.ts',
    'sandbox/**/*.test.ts',
    'cli/**/*.test.ts',
    'tests/{conformance,contract,request,adapters,deploy,exports,faults,fuzz,sandbox,sdk,syncs,tidy}/**/*.test.ts',
    'tests/*.test.ts',
  ],
  unit: ['src/**/*.test.ts', 'cli/**/*.test.ts', 'tests/tidy/**/*.test.ts'],
  cluster: ['tests/cluster/**/*.test.ts'],
  browser: ['tests/e2e/**/*.test.ts'],
  release: ['tests/release/**/*.test.ts'],
  conformance: ['tests/conformance/**/*.test.ts'],
  sdk: ['tests/sdk-installed/**/*.test.ts'],
}
const [first, ...others] = process.argv.slice(2)
// What begins with a dash is for node:test, whichever suite runs.
const name = first === undefined || first.startsWith('-') ? 'all' : first
const rest = name === first ? others : process.argv.slice(2)
const patterns = suites[name]
if (patterns === undefined) {
  console.error(`unknown suite ${name}; one of ${Object.keys(suites).join(', ')}`)
  process.exit(2)
}
const files = globSync(patterns).sort()
if (files.length === 0) {
  console.error(`the suite ${name} has no test files`)
  process.exit(1)
}
// By default one less than there are cores. Files that often wait leave room for two more than there are; a
// browser keeps the cores busy.
const more = ['all', 'cluster'].includes(name) ? 2 : 0
const filesPerGroup = ['cluster', 'browser'].includes(name) ? 4 : 16
const atOnce = `--test-concurrency=${availableParallelism() + more}`
const isGiven = (flag: RegExp) => rest.some((argument) => flag.test(argument))
const reporters = isGiven(/^--test-reporter=/)
  ? []
  : ['--test-reporter=./scripts/report-tests.ts', '--test-reporter-destination=stdout']
// Tests are picked by their names before a group has loaded them.
const entries = isGiven(/^--test-(name-pattern|skip-pattern|only)/)
  ? files
  : groupFiles(files, filesPerGroup)
const flags = [
  '--disable-warning=ExperimentalWarning',
  '--import=./scripts/test-owner.ts',
  '--test',
  '--test-timeout=120000',
]
const child = spawn(process.execPath, [...flags, atOnce, ...reporters, ...rest, ...entries], {
  stdio: 'inherit',
  env: { ...process.env, ...openMemoryFolder(), NODE_ENV: 'test' },
})
// The runner alone can say which tests were running, and it does so for this signal.
const stopLimitMs = 10_000
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    child.kill('SIGINT')
    setTimeout(() => child.kill('SIGKILL'), stopLimitMs).unref()
  })
}
child.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1
})

/**
 * Runs one of the suites with node:test: `unit` (beside the code), `conformance`, `cluster`, `browser`, or all that needs
 * nothing but npm (no argument).
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'

const suites: Record<string, string[]> = {
  all: [
    'src/**/*.test.ts',
    'sandbox/**/*.test.ts',
    'cli/**/*.test.ts',
    'tests/{conformance,contract,request,adapters,deploy,faults,fuzz,sandbox,tidy}/**/*.test.ts',
    'tests/*.test.ts',
  ],
  unit: ['src/**/*.test.ts', 'cli/**/*.test.ts', 'tests/tidy/**/*.test.ts'],
  cluster: ['tests/cluster/**/*.test.ts'],
  browser: ['tests/e2e/**/*.test.ts'],
  conformance: ['tests/conformance/**/*.test.ts'],
}
const [name = 'all', ...rest] = process.argv.slice(2)
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
const child = spawn(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', '--test', '--test-timeout=120000', ...rest, ...files],
  { stdio: 'inherit', env: { ...process.env, NODE_ENV: 'test' } },
)
child.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1
})

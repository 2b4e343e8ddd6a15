/**
 * The tests of one file, run with the module that tells whose error nobody caught (scripts/test-owner.ts) and
 * without it.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const sample = `
import { describe, test } from 'node:test'
import { readFile } from 'node:fs'
const fail = (name) => { throw new Error('thrown by ' + name) }
const at = {
  timer: (t) => setTimeout(() => fail(t.name), 1),
  rejection: (t) => Promise.resolve().then(() => fail(t.name)),
  immediate: (t) => setImmediate(() => fail(t.name)),
  tick: (t) => process.nextTick(() => fail(t.name)),
  file: (t) => readFile('.', () => fail(t.name)),
}
const wait = (isSo) => new Promise((resolve) => {
  const look = () => isSo() ? resolve() : setImmediate(look)
  look()
})
for (const [name, start] of Object.entries(at)) {
  test(name, (t) => { start(t); return wait(() => t.signal.aborted) })
}
describe('a suite', () => {
  test('with a test', async (t) => {
    await t.test('that fails', (t) => { at.timer(t); return wait(() => t.signal.aborted) })
    await t.test('that passes', async () => {})
  })
})
test('two at once', async (t) => {
  let failed = false
  await Promise.all([
    t.test('the one', async (t) => { at.rejection(t); await wait(() => t.signal.aborted); failed = true }),
    t.test('the other', () => wait(() => failed)),
  ])
})
let isLate = false
test('ends before its error', () => {
  setTimeout(() => { isLate = true; fail('the late one') }, 1)
})
test('is no cause of it', () => wait(() => isLate))
`

test('an error that nobody caught fails the test that began the work, with its name and at its place', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-test-owner-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'sample.test.mjs')
  writeFileSync(file, sample)
  const run = (...flags: readonly string[]) => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = [...flags, '--test', '--test-reporter=tap', '--test-timeout=30000', file]
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    return stdout
      .split('\n')
      .filter((line) => /^ *(?:ok|not ok|error:) |^# (?:Error|pass|fail)/.test(line))
  }
  const lines = run('--import', './scripts/test-owner.ts')
  assert.equal(lines.filter((line) => line.includes('thrown by')).length, 8)
  assert.ok(lines.some((line) => line.startsWith('# Error: Test "ends before its error"')))
  assert.deepEqual(lines, run())
})

/**
 * The release gate on real git: it tags a tree that is ready, and refuses every other one before it writes
 * anything.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { release } from '../../scripts/release/release.ts'

const ready = `# Changelog

## Unreleased

### Added
- A thing.

### Upgrade steps
- None.

## 0.1.0 (2026-01-01)

### Added
- The first one.
`

/** A small clone with the files that a release touches. */
function makeClone(t: TestContext, changelog: string) {
  const root = mkdtempSync(join(tmpdir(), 'release-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
    const run = spawnSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    return run.stdout.trim()
  }
  const manifest = '{\n  "name": "tributary",\n  "version": "0.1.0"\n}\n'
  writeFileSync(join(root, 'package.json'), manifest)
  writeFileSync(join(root, 'server.json'), manifest)
  writeFileSync(
    join(root, 'package-lock.json'),
    '{"version": "0.1.0", "packages": {"": {"version": "0.1.0"}, "x": {"version": "9.9.9"}}}\n',
  )
  writeFileSync(join(root, 'CHANGELOG.md'), changelog)
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.com')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'first')
  return { root, git }
}

const read = (root: string, name: string) => readFileSync(join(root, name), 'utf8')

test('a tree that is ready gets its version everywhere, a commit and a tag', (t) => {
  const { root, git } = makeClone(t, ready)
  release({ root, version: '0.2.0', day: '2026-11-22', prepare: () => undefined })
  assert.equal(git('tag', '--list'), 'v0.2.0')
  assert.equal(git('log', '-1', '--format=%s'), 'release: 0.2.0')
  assert.equal(git('status', '--porcelain'), '')
  for (const name of ['package.json', 'server.json']) assert.match(read(root, name), /"0\.2\.0"/)
  const lock = JSON.parse(read(root, 'package-lock.json'))
  assert.deepEqual([lock.version, lock.packages[''].version], ['0.2.0', '0.2.0'])
  assert.equal(lock.packages.x.version, '9.9.9')
  assert.match(
    read(root, 'CHANGELOG.md'),
    /## Unreleased\n\n## 0\.2\.0 \(2026-11-22\)\n\n### Added/,
  )
})

test('an empty Unreleased section, also right after a release, is refused', (t) => {
  const { root, git } = makeClone(t, ready)
  const day = '2026-11-22'
  release({ root, version: '0.2.0', day, prepare: () => undefined })
  const again = () => release({ root, version: '0.3.0', day, prepare: () => undefined })
  assert.throws(again, /Unreleased is empty/)
  assert.equal(git('tag', '--list'), 'v0.2.0')
})

test('another branch, uncommitted changes, and an old or odd version are all reported at once', (t) => {
  const { root, git } = makeClone(t, ready)
  git('checkout', '--quiet', '-b', 'topic')
  writeFileSync(join(root, 'new.txt'), 'x')
  const attempt = () =>
    release({ root, version: '0.1.0', day: '2026-11-22', prepare: () => undefined })
  assert.throws(attempt, (error: Error) => {
    assert.match(error.message, /not newer than 0\.1\.0/)
    assert.match(error.message, /on main/)
    assert.match(error.message, /uncommitted/)
    return true
  })
  assert.equal(read(root, 'CHANGELOG.md'), ready)
})

test('nothing is committed or tagged when the checks fail', (t) => {
  const { root, git } = makeClone(t, ready)
  const prepare = () => {
    throw new Error('check failed')
  }
  assert.throws(() => release({ root, version: '0.2.0', day: '2026-11-22', prepare }), /check/)
  assert.equal(git('tag', '--list'), '')
  assert.equal(git('log', '-1', '--format=%s'), 'first')
})

/** What the data directory refuses, where the rights of its files and of itself differ. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StoreOpenError } from '../failure.ts'
import { enterDirectory } from './sqlite-directory.ts'

const nobody = 65_534

/** Without the rights of root, who may write everywhere. Nothing else may run meanwhile. */
function asNobody(work: () => void): void {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  try {
    work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

// Windows has no such permission bits.
if (process.platform !== 'win32')
  test('a data directory whose files may be written and it may not is refused for want of that right', (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tributary-directory-'))
    t.after(() => rmSync(dataDir, { recursive: true, force: true }))
    if (process.geteuid?.() === 0) chownSync(dataDir, nobody, nobody)
    asNobody(() => enterDirectory(dataDir, () => {}).release())
    chmodSync(dataDir, 0o500)
    const isRefused = (error: unknown) => {
      assert.ok(error instanceof StoreOpenError)
      assert.equal(error.reason, 'not_writable')
      assert.ok(
        error.message.startsWith(`the data directory ${dataDir} cannot be written (no right`),
      )
      return true
    }
    asNobody(() => assert.throws(() => enterDirectory(dataDir, () => {}), isRefused))
    chmodSync(dataDir, 0o700)
    asNobody(() => enterDirectory(dataDir, () => {}).release())
  })

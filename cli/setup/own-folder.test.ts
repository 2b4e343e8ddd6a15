/** Which folders setup takes for the user's own. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { demandOwnFolder, isOurs } from './own-folder.ts'

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-own-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'inner'))
  return folder
}

test('a folder of one’s own below a shared one with the sticky bit is taken', (t) => {
  demandOwnFolder(join(makeFolder(t), 'inner'))
})

test('a folder that others may write is refused by its name, also above, and also behind a link', (t) => {
  const folder = makeFolder(t)
  symlinkSync(join(folder, 'inner'), join(folder, 'link'))
  for (const place of ['inner', '.']) {
    const opened = join(folder, place)
    // The sticky bit is no help where the settings themselves are.
    for (const mode of place === '.' ? [0o777] : [0o777, 0o1777]) {
      chmodSync(opened, mode)
      for (const asked of ['inner', 'link']) {
        assert.throws(
          () => demandOwnFolder(join(folder, asked)),
          (error: Error) => error.message.startsWith(`${opened} (owner `),
        )
      }
    }
    chmodSync(opened, 0o755)
  }
})

test('a folder is ours by its owner, its group and its mode, and the sticky bit counts above alone', () => {
  const me = { user: 1000, group: 100, isItself: true }
  const root = { user: 0, group: 0, isItself: true }
  for (const [uid, gid, mode, whose, expected] of [
    [1000, 100, 0o755, me, true],
    [1000, 100, 0o775, me, true],
    [1000, 200, 0o775, me, false],
    [0, 0, 0o775, me, true],
    [1001, 100, 0o700, me, false],
    [0, 0, 0o755, root, true],
    [1000, 100, 0o700, root, false],
    [0, 100, 0o775, root, false],
    [0, 0, 0o777, root, false],
    [0, 0, 0o1777, root, false],
    [0, 0, 0o1777, { ...root, isItself: false }, true],
    [1000, 0, 0o1777, { ...root, isItself: false }, false],
  ] as const) {
    assert.equal(isOurs({ uid, gid, mode }, whose), expected, `${uid} ${gid} ${mode.toString(8)}`)
  }
})

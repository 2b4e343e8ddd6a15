/** Which folders setup takes for the user's own. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { demandOwnData, demandOwnFolder, isOurs, isPrivateGroup } from './own-folder.ts'

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

test('a link that leads to a folder of one’s own is taken, where nobody else may put another in its place', (t) => {
  const folder = makeFolder(t)
  for (const place of ['shared', 'inner/data']) mkdirSync(join(folder, place))
  const link = join(folder, 'shared', 'link')
  symlinkSync('../inner', link)
  for (const [mode, isTaken] of [
    [0o755, true],
    [0o777, false],
    // Whose link is removed by its owner alone.
    [0o1777, true],
  ] as const) {
    chmodSync(join(folder, 'shared'), mode)
    for (const demand of [
      () => demandOwnFolder(link),
      () => demandOwnData(link),
      () => demandOwnData(join(link, 'data')),
    ]) {
      if (isTaken) demand()
      else assert.throws(demand, /\/shared \(owner \d+, group \d+, mode 0777\) may be written/)
    }
  }
  if (process.getuid?.() !== 0) return
  lchownSync(link, 1235, 1235)
  assert.throws(() => demandOwnData(link), /\/link \(owner 1235, /)
})

test('`..` in a link leads out of the folder that is really there, and that one is judged', (t) => {
  const folder = makeFolder(t)
  for (const place of ['real/sub', 'real/open/d', 'open/d'])
    mkdirSync(join(folder, place), { recursive: true })
  symlinkSync('real/sub', join(folder, 's'))
  // By its text it would be `open/d`, in which nobody else may write.
  symlinkSync('s/../open/d', join(folder, 'data'))
  demandOwnData(join(folder, 'data'))
  chmodSync(join(folder, 'real/open'), 0o777)
  for (const demand of [demandOwnData, demandOwnFolder])
    assert.throws(() => demand(join(folder, 'data')), /^Refusal: \S+\/real\/open \(owner /)
})

test('a link with `..` whose text names nothing that is there is judged by where it leads', (t) => {
  const folder = makeFolder(t)
  for (const place of ['real/sub', 'real/only']) mkdirSync(join(folder, place), { recursive: true })
  symlinkSync('real/sub', join(folder, 's'))
  symlinkSync('s/../only', join(folder, 'data'))
  for (const demand of [demandOwnData, demandOwnFolder]) {
    chmodSync(join(folder, 'real/only'), 0o755)
    demand(join(folder, 'data'))
    chmodSync(join(folder, 'real/only'), 0o777)
    assert.throws(() => demand(join(folder, 'data')), /^Refusal: \S+\/real\/only \(owner /)
  }
})

test('a data directory that is missing is judged by the folder in which it would be made', (t) => {
  const folder = join(makeFolder(t), 'inner')
  const missing = join(folder, 'a', 'data')
  demandOwnData(missing)
  // In one with the sticky bit somebody else may make it first.
  for (const mode of [0o777, 0o1777]) {
    chmodSync(folder, mode)
    const words =
      /^Refusal: \S+\/inner \(owner .* in \S+\/inner\/a\/data: start the service, then run/
    assert.throws(() => demandOwnData(missing), words)
  }
})

test('an .env that another user may write is refused by its name, and one of this user is taken', (t) => {
  const folder = join(makeFolder(t), 'inner')
  const file = join(folder, '.env')
  writeFileSync(file, 'SANDBOX=false\n')
  for (const mode of [0o600, 0o644]) {
    chmodSync(file, mode)
    demandOwnFolder(folder)
  }
  chmodSync(file, 0o666)
  const words =
    /\.env \(owner \d+, group \d+, mode 0666\) may be written by another user, who could choose/
  assert.throws(() => demandOwnFolder(folder), words)
})

test('an .env that is a link is refused where another user may put another file in its place', (t) => {
  const folder = makeFolder(t)
  const place = join(folder, 'place')
  mkdirSync(place)
  writeFileSync(join(place, 'settings'), 'SANDBOX=false\n', { mode: 0o600 })
  symlinkSync('../place/settings', join(folder, 'inner', '.env'))
  demandOwnFolder(join(folder, 'inner'))
  chmodSync(place, 0o777)
  const words =
    /\/place \(owner \d+, group \d+, mode 0777\) may be .* who could choose the settings/
  assert.throws(() => demandOwnFolder(join(folder, 'inner')), words)
})

test('an .env of another user in a folder of root is refused by its name', {
  skip: process.getuid?.() !== 0 && 'only root may give a file away',
}, (t) => {
  const folder = join(makeFolder(t), 'inner')
  writeFileSync(join(folder, '.env'), 'SANDBOX=false\n', { mode: 0o600 })
  chownSync(join(folder, '.env'), 1235, 1235)
  assert.throws(() => demandOwnFolder(folder), /\.env \(owner 1235, group 1235, mode 0600\) may be/)
})

test('a folder is ours by its owner, its group and its mode, and the sticky bit counts above alone', () => {
  const isPrivate = (group: number) => group === 0 || group === 1000
  const me = { user: 1000, isItself: true, isPrivate }
  const root = { user: 0, isItself: true, isPrivate: (group: number) => group === 0 }
  for (const [uid, gid, mode, whose, expected] of [
    [1000, 100, 0o755, me, true],
    [1000, 1000, 0o775, me, true],
    [1000, 100, 0o775, me, false],
    [0, 0, 0o775, me, true],
    [1001, 1000, 0o700, me, false],
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

test('a group that others are in too is not taken for a user’s own, even as the first group of this user', () => {
  const users = [
    ['root', 'x', '0', '0'],
    ['emma', 'x', '1000', '1000'],
    ['mia', 'x', '1001', '1002'],
    ['noah', 'x', '1002', '1002'],
  ]
  const groups = [
    ['root', 'x', '0', 'root'],
    ['users', 'x', '100', ''],
    ['emma', 'x', '1000', 'emma,root'],
    ['mia', 'x', '1001', 'noah'],
    ['noah', 'x', '1002', ''],
    ['elsewhere', 'x', '1003', 'unknown'],
    [''],
  ]
  for (const [user, group, expected] of [
    [1000, 1000, true],
    [1000, 0, true],
    [1000, 100, false],
    [1001, 1001, false],
    [1002, 1002, false],
    [1003, 1003, false],
    [1004, 1004, true],
    [0, 0, true],
    [0, 1000, false],
  ] as const) {
    assert.equal(isPrivateGroup(group, { user, users, groups }), expected, `${user} ${group}`)
  }
})

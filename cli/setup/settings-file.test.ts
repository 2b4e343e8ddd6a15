/** What a setup adds to `.env`, what stays as it was, and which files it refuses to touch. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readEnvironmentFile } from '#settings/environment-file.ts'
import { Refusal } from '../server.ts'
import { addToSettingsFile } from './settings-file.ts'

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-settings-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

const live = new Map([['SANDBOX', 'false']])
const modeOf = (path: string) => statSync(path).mode & 0o777

test('a folder without the file gets one that only its owner can read', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  const written = await addToSettingsFile(folder, live)
  assert.deepEqual(written, { path, names: ['SANDBOX'], replaced: [], wasExposed: false })
  assert.equal(readFileSync(path, 'utf8'), '# Added by tributary setup.\nSANDBOX=false\n')
  assert.equal(modeOf(path), 0o600)
  assert.deepEqual(readdirSync(folder), ['.env'])
})

test('every line of a person stays, set variables too, and a value is read back as it was given', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  const before = '# mine\r\nSANDBOX = false # live\nUP_TOKEN="a b"\n\nPORT='
  writeFileSync(path, before, { mode: 0o600 })
  const odd = `a#b"c'd$e`
  const values = new Map([
    ['SANDBOX', 'true'],
    ['AKAHU_APP_TOKEN', odd.replace("'", '')],
    ['PORT', '1'],
  ])
  const { names } = await addToSettingsFile(folder, values)
  assert.deepEqual(names, ['AKAHU_APP_TOKEN', 'PORT'])
  assert.ok(readFileSync(path, 'utf8').startsWith(`${before}\n\n# Added by`))
  const variables = readEnvironmentFile(folder)?.variables
  assert.deepEqual(variables, {
    SANDBOX: 'false',
    UP_TOKEN: 'a b',
    PORT: '1',
    AKAHU_APP_TOKEN: odd.replace("'", ''),
  })
  const after = readFileSync(path, 'utf8')
  assert.deepEqual((await addToSettingsFile(folder, values)).names, [])
  assert.equal(readFileSync(path, 'utf8'), after)
})

test('a value of blanks alone counts as not set, and the line after it as set', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  writeFileSync(path, 'UP_TOKEN= \nSANDBOX=false\n', { mode: 0o600 })
  const { names } = await addToSettingsFile(folder, new Map([...live, ['UP_TOKEN', 'up:x']]))
  assert.deepEqual(names, ['UP_TOKEN'])
  assert.deepEqual(readEnvironmentFile(folder)?.variables, { UP_TOKEN: 'up:x', SANDBOX: 'false' })
})

test('a file that others can read loses that permission', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  writeFileSync(path, 'PORT=1\n')
  chmodSync(path, 0o644)
  const written = await addToSettingsFile(folder, live)
  assert.equal(written.wasExposed, true)
  assert.equal(modeOf(path), 0o600)
  assert.match(readFileSync(path, 'utf8'), /^PORT=1\n\n#.*\nSANDBOX=false\n$/)
})

test('nothing is written through a link, to a file of others or to none, and nothing of its file is copied', async (t) => {
  const folder = makeFolder(t)
  const other = join(makeFolder(t), 'secret')
  writeFileSync(other, 'SECRET=1\n', { mode: 0o640 })
  for (const place of [other, join(folder, 'nowhere')]) {
    symlinkSync(place, join(folder, '.env'))
    await assert.rejects(
      addToSettingsFile(folder, live),
      /^Refusal: .*\.env is a link, and setup writes through none; .*or set SANDBOX in the environment$/,
    )
    assert.deepEqual(readdirSync(folder), ['.env'])
    rmSync(join(folder, '.env'))
  }
  assert.deepEqual([readFileSync(other, 'utf8'), modeOf(other)], ['SECRET=1\n', 0o640])
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, '.env')])
  assert.deepEqual((await addToSettingsFile(folder, live)).names, ['SANDBOX'])
})

test('a line is replaced where it stands, every line of its name; comments and the others stay', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  const before = `A=1\r\nexport KEY = "o#d" # mine, isn't it\r\nKEYS=3\nKEY=old# x\nB=2 # b\n`
  writeFileSync(path, before, { mode: 0o600 })
  const written = await addToSettingsFile(folder, new Map([['A', '9']]), new Map([['KEY', "n'#w"]]))
  assert.deepEqual([written.names, written.replaced], [[], ['KEY']])
  const lines = [`export KEY ="n'#w" # mine, isn't it\r`, 'KEYS=3', `KEY="n'#w"# x`]
  const text = ['A=1\r', ...lines, 'B=2 # b\n'].join('\n')
  assert.equal(readFileSync(path, 'utf8'), text)
})

test('every value of visible characters is read back as it was given, or refused', async (t) => {
  const folder = makeFolder(t)
  const odd = ["it's\\n", '\\n', "a'\\nb", '`\\n', '"\\n', 'a"b\\n', "'`", '$HOME', 'a\\', "'\\"]
  const values = new Map(odd.map((value, index) => [`V${index}`, value]))
  await addToSettingsFile(folder, values)
  assert.deepEqual(readEnvironmentFile(folder)?.variables, Object.fromEntries(values))
  const none = new Map([['W', '\'`\\n"']])
  await assert.rejects(addToSettingsFile(folder, none), /cannot be written to \.env/)
})

test('nothing is written to a file whose open quote or value of several lines would hide or become settings', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, '.env')
  const quoted = new Map([['AKAHU_APP_TOKEN', 'a"b\'c']])
  for (const mark of ['"', "'", '`']) {
    const before = `UP_TOKEN=${mark}abc\n`
    writeFileSync(path, before, { mode: 0o600 })
    await assert.rejects(
      addToSettingsFile(folder, quoted),
      /quote that is not closed.*AKAHU_APP_TOKEN/,
    )
    assert.equal(readFileSync(path, 'utf8'), before)
  }
  const before = 'AKAHU_APP_TOKEN="one\nPORT=2"\n'
  writeFileSync(path, before)
  await assert.rejects(addToSettingsFile(folder, new Map(), quoted), /value of several lines/)
  assert.equal(readFileSync(path, 'utf8'), before)
  assert.deepEqual(readdirSync(folder), ['.env'])
})

test('a directory in its place, a folder that is not there and a file of another setup are refused in one line', async (t) => {
  const folder = makeFolder(t)
  mkdirSync(join(folder, '.env'))
  const refuse = (where: string, words: RegExp) =>
    assert.rejects(addToSettingsFile(where, live), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.match(error.message, words)
      assert.doesNotMatch(error.message, /\n/)
      return true
    })
  await refuse(folder, /\.env cannot be written \(EISDIR\); .*or set SANDBOX in the environment$/)
  assert.deepEqual(readdirSync(folder), ['.env'])
  await refuse(join(folder, 'nowhere'), /cannot be written \(ENOENT\)/)
  const other = makeFolder(t)
  writeFileSync(join(other, '.env.new'), '')
  await refuse(other, /another setup is writing .*\.env; if none runs, remove that file/)
  assert.ok(existsSync(join(other, '.env.new')))
})

test('two at once: one writes, or both do one after the other; nothing is lost', async (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, '.env'), 'PORT=1\n', { mode: 0o600 })
  const runs = ['A', 'B', 'C'].map((name) => addToSettingsFile(folder, new Map([[name, 'x']])))
  const ended = await Promise.allSettled(runs)
  const variables = readEnvironmentFile(folder)?.variables ?? {}
  const names = ended.flatMap((one) => (one.status === 'fulfilled' ? one.value.names : []))
  assert.ok(names.length > 0)
  assert.deepEqual(Object.keys(variables).sort(), ['PORT', ...names].sort())
})

/**
 * What `tributary setup` refuses before it opens a store: the zone of the machine, and a token that is cut.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { readMachineZone } from '../config.ts'

const email = 'emma@b.example'

async function setUp(t: TestContext, args: readonly string[], input = '', more = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const ended = await runCommand(['setup', ...args], {
    // Port 9, where nothing listens: no service runs.
    environment: { DATA_DIR: join(folder, 'data'), ADMIN_URL: '', ADMIN_PORT: '9', ...more },
    workingDirectory: folder,
    input,
  })
  return { ...ended, files: readdirSync(folder) }
}

function restoreZone(t: TestContext): void {
  const before = process.env.TZ
  t.after(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
}

test('a TZ that is no IANA name is one line with what to do, also where the runtime makes UTC or an offset of it', async (t) => {
  restoreZone(t)
  for (const zone of ['Mars/Olympus', 'NZST-12NZDT', 'GMT+12', 'UTC0', ':/etc/localtime']) {
    process.env.TZ = zone
    const { code, out, err } = await setUp(t, ['--email', email])
    assert.deepEqual([code, out], [1, ''], zone)
    assert.match(err, /^tributary: TZ names no IANA time zone; .* or give --timezone\n$/)
  }
})

test('an empty TZ counts as unset, and a zone behind a colon is that zone', async (t) => {
  restoreZone(t)
  delete process.env.TZ
  const ofMachine = readMachineZone()
  assert.ok(ofMachine !== null)
  for (const [text, zone] of [
    ['', ofMachine],
    [' ', ofMachine],
    ['Pacific/Auckland', 'Pacific/Auckland'],
    [':Pacific/Auckland', 'Pacific/Auckland'],
  ] as const) {
    process.env.TZ = text
    assert.equal(readMachineZone(), zone, text)
  }
  process.env.TZ = ''
  const { code, out, err } = await setUp(t, ['--email', email, '--json'])
  assert.deepEqual([code, err], [0, ''])
  assert.equal(JSON.parse(out).user.timezone, ofMachine)
})

test('a token that is broken over two lines is refused as such, and nothing is made', async (t) => {
  const args = ['--email', email, '--timezone', 'Australia/Perth', '--up-token', '-']
  const { code, out, err, files } = await setUp(t, args, 'up:yeah:sekrit\nsecond\n')
  assert.deepEqual([code, out, files], [1, '', []])
  assert.match(err, /more than one line for each of --up-token; is a secret broken/)
  assert.doesNotMatch(err, /sekrit|second/)
})

test('a variable with a key of another provider, or with quotes, is named, and nothing is made', async (t) => {
  const cases: [variables: Record<string, string>, why: RegExp][] = [
    [{ AKAHU_APP_TOKEN: 'up:yeah:sekrit' }, /^tributary: AKAHU_APP_TOKEN: got a key of Up, /],
    [{ AKAHU_APP_TOKEN: "'app_token_sekrit'" }, /AKAHU_APP_TOKEN: got a value in quotes, /],
    [{ UP_TOKEN: 'user_token_sekrit' }, /Up is not linked: UP_TOKEN is a key of Akahu, /],
    [{ UP_TOKEN: '"up:yeah:sekrit"' }, /Up is not linked: UP_TOKEN is a value in quotes; /],
  ]
  for (const [variables, why] of cases) {
    const { code, err } = await setUp(t, ['--email', email], '', variables)
    assert.equal(code, 1)
    assert.match(err, why)
    assert.doesNotMatch(err, /sekrit/)
  }
})

test('a data directory in which others may write is refused: no file is changed through a link, and none is made', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-shared-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const victim = join(folder, 'victim')
  writeFileSync(victim, 'a-file-of-mine-with-words', { mode: 0o644 })
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o1777)
  symlinkSync(victim, join(shared, 'admin-token'))
  // Port 9, where nothing listens.
  const database = {
    DATABASE_URL: 'postgresql://user@127.0.0.1:9/tributary',
    ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
  }
  for (const more of [{}, database]) {
    for (const DATA_DIR of [shared, join(shared, 'data')]) {
      const { code, err } = await setUp(t, ['--email', email], '', { DATA_DIR, ...more })
      assert.equal(code, 1)
      assert.match(
        err,
        /^tributary: \S+\/shared \(owner .*mode 1777\) may be written by another user/,
      )
      assert.match(err, /: start the service, then run setup again, or .* set a DATA_DIR that only/)
      assert.equal(statSync(victim).mode & 0o777, 0o644)
      assert.deepEqual(readdirSync(shared), ['admin-token'])
    }
  }
  // Nothing in it is used.
  const more = { ...database, DATA_DIR: shared, ADMIN_TOKEN: 'an-admin-token-of-tests' }
  assert.match((await setUp(t, ['--email', email], '', more)).err, /PostgreSQL does not answer/)
})

test('a service that hangs is named within five seconds, and the store is not opened beside it', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const more = { ADMIN_PORT: String(port), ADMIN_TOKEN: 'an-admin-token-of-tests' }
  const { code, err, files } = await setUp(t, ['--email', email], '', more)
  assert.equal(code, 1)
  assert.match(err, /did not answer within 5 seconds/)
  assert.match(err, /see whether its process is stopped or busy, and restart it/)
  assert.deepEqual(files, [])
})

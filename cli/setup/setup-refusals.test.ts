/**
 * What `tributary setup` refuses before it opens a store: the zone of the machine, and a token that is cut.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'

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

test('a TZ that is no zone is one line with what to do', async (t) => {
  const before = process.env.TZ
  t.after(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
  process.env.TZ = 'Mars/Olympus'
  const { code, out, err } = await setUp(t, ['--email', email])
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^tributary: TZ names no time zone; .* or give --timezone\n$/)
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

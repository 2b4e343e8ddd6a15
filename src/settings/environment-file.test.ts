/** The file `.env`: what is read from it, what overrides it, and what is refused instead of being ignored. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError, readConfig, readOwnConfig } from '#src/config.ts'
import { EnvironmentFileError, readEnvironmentFile } from './environment-file.ts'

async function makeFolder(t: TestContext, text?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-env-'))
  t.after(() => rm(folder, { recursive: true }))
  if (text !== undefined) await writeFile(join(folder, '.env'), text, { mode: 0o600 })
  return folder
}

test('a folder without the file gives no variables', async (t) => {
  assert.equal(readEnvironmentFile(await makeFolder(t)), null)
  assert.equal(readEnvironmentFile(join(await makeFolder(t), 'nowhere')), null)
})

test('names, quotes, comments, exports, blank lines and either line end are read', async (t) => {
  const text = [
    '\ufeff# settings',
    'PORT=8080',
    '  export BASE_URL = https://a.example   # public',
    '',
    `ADMIN_TOKEN='a#b "c"'`,
    'DATA_DIR="/srv/my data" # here',
    'SMTP_URL=',
    'REDIS_URL=redis://:p=w&x;y@h:1',
  ].join('\r\n')
  assert.deepEqual(readEnvironmentFile(await makeFolder(t, text))?.variables, {
    PORT: '8080',
    BASE_URL: 'https://a.example',
    ADMIN_TOKEN: 'a#b "c"',
    DATA_DIR: '/srv/my data',
    SMTP_URL: '',
    REDIS_URL: 'redis://:p=w&x;y@h:1',
  })
})

for (const [line, words] of [
  ['PORT: sekrit', /line 2: is neither NAME=value nor a comment/],
  ['sekrit', /line 2: is neither/],
  ['FISKIL-ID=sekrit', /line 2: is neither/],
  ['ADMIN_TOKEN=sekrit#1', /line 2: a value with # in it must be quoted/],
  ['ADMIN_TOKEN="sekrit', /line 2: the value must end on its line/],
  [`ADMIN_TOKEN='sekrit' more`, /line 2: the value must end on its line/],
] as const) {
  test(`a line that the runtime would pass over or cut (${line}) is one clear line without its value`, async (t) => {
    const folder = await makeFolder(t, `PORT=1\n${line}\nHOST=::1\n`)
    assert.throws(
      () => readEnvironmentFile(folder),
      (error: unknown) => {
        assert.ok(error instanceof EnvironmentFileError)
        assert.ok(error.message.startsWith(`${join(folder, '.env')}, line 2`), error.message)
        assert.match(error.message, words)
        assert.doesNotMatch(error.message, /sekrit|\n/)
        return true
      },
    )
  })
}

test('a blank other than space and tab before a value is named, because the runtime ignores such a line', async (t) => {
  const words = /line 2: has a blank that is neither a space nor a tab, such as U\+00A0 or U\+FEFF/
  for (const blank of ['\u00a0', '\ufeff', '\u2003', '\f', '\v', '\u2028']) {
    const assignments = ['@SIGN_UP=closed', 'SIGN_UP@=closed', 'SIGN_UP=@closed', '@', '@# a']
    for (const line of [...assignments, 'export@SIGN_UP=closed', '@export SIGN_UP=closed']) {
      const text = `PORT=1\n${line.replace('@', blank)}\nHOST=::1\n`
      const folder = await makeFolder(t, text)
      assert.throws(() => readEnvironmentFile(folder), words, JSON.stringify(text))
    }
  }
  const tab = await makeFolder(t, 'PORT=1\nexport\tSIGN_UP=closed\n')
  assert.throws(() => readEnvironmentFile(tab), /line 2: is neither NAME=value nor a comment/)
})

test('a value of blanks alone is empty and does not take the next line for itself', async (t) => {
  const text = 'SMTP_URL= \nSIGN_UP=closed\nREDIS_URL=\t \r\n\r\nPORT=1\n'
  const expected = { SMTP_URL: '', SIGN_UP: 'closed', REDIS_URL: '', PORT: '1' }
  assert.deepEqual(readEnvironmentFile(await makeFolder(t, text))?.variables, expected)
})

test('what is no regular file is an error at once: a folder, and a pipe that nobody writes to', async (t) => {
  const folder = await makeFolder(t)
  await mkdir(join(folder, '.env'))
  assert.throws(
    () => readEnvironmentFile(folder),
    /\.env is not a regular file: write the settings/,
  )
  const other = await makeFolder(t)
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(other, '.env')])
  assert.throws(() => readEnvironmentFile(other), /\.env is not a regular file/)
})

test('the environment overrides the file, with empty variables too; variables from the file are listed by name', async (t) => {
  const folder = await makeFolder(t, 'PORT=8080\nADMIN_PORT=8081\nLOG_LEVEL=debug\nDATA_DIR=here\n')
  const file = readEnvironmentFile(folder)
  const config = readConfig({ PORT: '9090', LOG_LEVEL: '' }, folder, file)
  assert.deepEqual(
    [config.listener.port, config.adminListener.port, config.logLevel, config.dataDir],
    [9090, 8081, 'info', join(folder, 'here')],
  )
  assert.deepEqual(config.environmentFile, {
    path: join(folder, '.env'),
    names: ['ADMIN_PORT', 'DATA_DIR'],
  })
  assert.deepEqual(config.warnings, [])
})

test('secrets in a file that others may read are a warning that names them; other settings are none', async (t) => {
  const folder = await makeFolder(t, 'ADMIN_TOKEN=long-enough-for-a-token\nSANDBOX=true\n')
  await chmod(join(folder, '.env'), 0o644)
  const warningsOf = () => readConfig({}, folder, readEnvironmentFile(folder)).warnings.join('\n')
  assert.match(warningsOf(), /\.env holds ADMIN_TOKEN and can be read by others \(mode 0644\)/)
  assert.doesNotMatch(warningsOf(), /long-enough/)
  await writeFile(join(folder, '.env'), 'SANDBOX=true\n')
  assert.equal(warningsOf(), '')
})

test('a problem of the configuration says that a file was read', async (t) => {
  const folder = await makeFolder(t, 'PORT=many\n')
  assert.throws(
    () => readConfig({}, folder, readEnvironmentFile(folder)),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.match(
        error.message,
        /^The configuration has 1 problem\(s\) \(environment and .*\.env\):/,
      )
      return true
    },
  )
})

test('in tests no file is picked up by accident', async (t) => {
  const folder = await makeFolder(t, 'no variable\n')
  const before = process.cwd()
  process.chdir(folder)
  t.after(() => process.chdir(before))
  assert.equal(readOwnConfig().environmentFile, null)
})

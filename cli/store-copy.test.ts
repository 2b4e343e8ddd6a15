/**
 * `tributary store copy` as a command: how the database is named, and what is refused before one is asked.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { keyA, keyB, makeSqlitePlace } from '#tests/contract/store/place.ts'
import { runCommand } from '#tests/support/command.ts'

const password = 'canary-of-the-database'
// Nothing listens there.
const url = `postgresql://user:${password}@127.0.0.1:9/tributary`
const keyText = (key: Uint8Array) => Buffer.from(key).toString('base64')

async function runHidden(
  args: readonly string[],
  { environment = {}, input = '', folder = tmpdir() } = {},
) {
  const ended = await runCommand(args, { environment, input, workingDirectory: folder })
  assert.ok(!`${ended.out}${ended.err}`.includes(password))
  return ended
}

/** An embedded store that is closed. */
async function makeStore(t: TestContext) {
  const place = makeSqlitePlace()
  t.after(() => place.remove())
  await (await place.open()).close()
  return place
}

test('a URL as an argument is wrong usage, and is not repeated', async () => {
  for (const args of [['--to', url], [`--to=${url}`], [url], ['--to', '-', url]]) {
    const { code, err } = await runHidden(['store', 'copy', ...args], { input: `${url}\n` })
    assert.equal(code, 2, args.join(' '))
    assert.match(err, /usage: tributary store copy \[--to -\]/)
  }
  assert.equal((await runHidden(['store'])).code, 2)
  assert.equal((await runHidden(['store', 'move'])).code, 2)
})

test('without a database, with an empty line, and with something that is no URL, nothing is asked', async () => {
  const environment = { DATA_DIR: '/nowhere' }
  for (const [args, input] of [
    [[], ''],
    [['--to', '-'], ''],
    [['--to', '-'], '\n'],
    [['--to', '-'], `mysql://user:${password}@host/db\n`],
  ] as const) {
    const { code, err, out } = await runHidden(['store', 'copy', ...args], { environment, input })
    assert.equal(code, 1)
    assert.equal(out, '')
    assert.match(err, /Standard input|standard input|DATABASE_URL/)
  }
})

test('DATABASE_URL names the database where standard input does not; a server that is away is refused', async (t) => {
  const { dataDir } = await makeStore(t)
  const common = { DATA_DIR: dataDir, ENCRYPTION_KEY: keyText(keyA) }
  const ways = [
    { args: ['--to', '-'], environment: common, input: `${url}\n` },
    { args: [], environment: { ...common, DATABASE_URL: url }, input: '' },
  ]
  for (const { args, environment, input } of ways) {
    const { code, err } = await runHidden(['store', 'copy', ...args, '--json'], {
      environment,
      input,
    })
    assert.equal(code, 1)
    const { error } = JSON.parse(err) as { error: { message: string; details?: unknown } }
    assert.match(
      error.message,
      /PostgreSQL does not answer \(database "tributary" at 127\.0\.0\.1:9/,
    )
    assert.equal(error.details, undefined)
  }
})

test('a running service, another key and a folder without a store are refused before the database is asked', async (t) => {
  const place = await makeStore(t)
  const copy = (environment: Readonly<Record<string, string>>) =>
    runHidden(['store', 'copy', '--to', '-'], { environment, input: `${url}\n` })
  const environment = { DATA_DIR: place.dataDir, ENCRYPTION_KEY: keyText(keyA) }
  const running = await place.open()
  assert.match((await copy(environment)).err, /another process has the store in .* open: stop it/)
  await running.close()
  const wrong = await copy({ ...environment, ENCRYPTION_KEY: keyText(keyB) })
  assert.match(wrong.err, /ENCRYPTION_KEY does not hold every key/)
  const empty = mkdtempSync(join(tmpdir(), 'tributary-copy-'))
  t.after(() => rmSync(empty, { recursive: true }))
  const none = await copy({ ...environment, DATA_DIR: empty })
  assert.match(none.err, /there is no embedded store in /)
  assert.deepEqual(readdirSync(empty), [], 'nothing is made there')
})

test('a link in the place of a file of the store is one sentence', async (t) => {
  const place = await makeStore(t)
  const environment = { DATA_DIR: place.dataDir, ENCRYPTION_KEY: keyText(keyA) }
  for (const name of ['tributary.lock', 'tributary.db', 'event-keys.db']) {
    const path = join(place.dataDir, name)
    renameSync(path, join(place.dataDir, 'elsewhere'))
    symlinkSync(join(place.dataDir, 'elsewhere'), path)
    const closed = await runHidden(['store', 'copy', '--to', '-'], {
      environment,
      input: `${url}\n`,
    })
    assert.equal(closed.code, 1)
    assert.equal(
      closed.err,
      `tributary: ${path} is a link, which is not followed: put what it leads to in its place\n`,
    )
    renameSync(join(place.dataDir, 'elsewhere'), path)
  }
})

test('the settings are those of the service: the environment, and the .env of the folder', async (t) => {
  const { dataDir } = await makeStore(t)
  const folder = mkdtempSync(join(tmpdir(), 'tributary-copy-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const lines = [`DATA_DIR=${dataDir}`, `ENCRYPTION_KEY=${keyText(keyA)}`, `DATABASE_URL=${url}`]
  writeFileSync(join(folder, '.env'), lines.join('\n'), { mode: 0o600 })
  const found = await runHidden(['store', 'copy'], { folder })
  assert.match(found.err, /PostgreSQL does not answer/)
  writeFileSync(join(folder, '.env'), [...lines, 'PORT=many'].join('\n'), { mode: 0o600 })
  const wrong = await runHidden(['store', 'copy'], { folder })
  assert.match(wrong.err, /The settings cannot be used/)
  assert.match(wrong.err, /PORT: got/)
})

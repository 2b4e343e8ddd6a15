/** Variables whose value a file holds: the file is read, and every mistake names its variable. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError, readConfig } from '#src/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'tributary-key-'))
after(() => rmSync(folder, { recursive: true }))
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
writeFileSync(join(folder, 'key.pem'), privateKey)
writeFileSync(join(folder, 'empty.pem'), '\n')
writeFileSync(join(folder, 'other.pem'), 'hello')
writeFileSync(join(folder, 'large.pem'), 'hello'.repeat(20_000))

const base = { ENABLEBANKING_APPLICATION_ID: 'app-1' }

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig({ ...base, ...environment }, folder)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

test('a key is read from the file that its variable names, relative to the working directory', () => {
  const config = readConfig({ ...base, ENABLEBANKING_PRIVATE_KEY_FILE: 'key.pem' }, folder)
  assert.equal(config.providers.enablebanking?.privateKey?.reveal(), privateKey)
  assert.equal(config.mode, 'live')
})

const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
  [
    { ENABLEBANKING_PRIVATE_KEY_FILE: 'nowhere.pem' },
    /_FILE: names a file that cannot be read \(ENOENT\)/,
  ],
  [{ ENABLEBANKING_PRIVATE_KEY_FILE: 'empty.pem' }, /_FILE: names a file that is empty/],
  [{ ENABLEBANKING_PRIVATE_KEY_FILE: '.' }, /_FILE: names what is not a regular file/],
  [{ ENABLEBANKING_PRIVATE_KEY_FILE: 'large.pem' }, /_FILE: names a file that is far too large/],
  [
    { ENABLEBANKING_PRIVATE_KEY_FILE: 'other.pem' },
    /ENABLEBANKING_PRIVATE_KEY_FILE: .* is no PEM text/,
  ],
  [
    { ENABLEBANKING_PRIVATE_KEY_FILE: 'key.pem', ENABLEBANKING_PRIVATE_KEY: 'x' },
    /_FILE: set together with ENABLEBANKING_PRIVATE_KEY, should be one of the two/,
  ],
  [
    {},
    /ENABLEBANKING_PRIVATE_KEY: not set, should be set together with ENABLEBANKING_APPLICATION_ID/,
  ],
  [
    { ENABLEBANKING_PRIVATE_KEY_FILE: 'key.pem', ENABLEBANKING_COUNTRIES: 'Finland' },
    /ENABLEBANKING_COUNTRIES: got "Finland", should be two-letter codes/,
  ],
]

for (const [environment, expected] of wrong) {
  test(`a wrong setting is one line with its variable: ${expected.source.slice(0, 60)}`, () => {
    const problems = problemsOf(environment)
    assert.match(problems.join('\n'), expected)
    assert.ok(!problems.join().includes('hello'))
    assert.equal(problems.length, 1)
  })
}

test('a device or a pipe in the place of a key file is refused at once, and never read', {
  skip: process.platform === 'win32',
}, () => {
  const pipe = join(folder, 'pipe')
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
  // A process of its own, which can be ended while it reads.
  const read = `
    const { readSecretFiles } = await import(${JSON.stringify(import.meta.resolve('./secret-files.ts'))})
    const given = { ENABLEBANKING_PRIVATE_KEY_FILE: process.argv[1] }
    console.log(readSecretFiles(given, '/').problems.join('\\n'))`
  for (const path of ['/dev/zero', pipe]) {
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', read, path]
    const said = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 10_000 })
    assert.equal(said, 'ENABLEBANKING_PRIVATE_KEY_FILE: names what is not a regular file\n', path)
  }
})

test('a key file that others may read is a warning, as .env is', () => {
  const warningsOf = (mode: number) => {
    chmodSync(join(folder, 'key.pem'), mode)
    const given = { ...base, ENABLEBANKING_PRIVATE_KEY_FILE: 'key.pem' }
    return readConfig(given, folder).warnings.filter((one) => one.includes('_FILE'))
  }
  assert.match(warningsOf(0o644).join(), /key\.pem, which can be read by others \(mode 0644\)/)
  assert.deepEqual(warningsOf(0o600), [])
})

test('countries are codes in any case, each once and sorted', () => {
  const config = readConfig({
    ...base,
    ENABLEBANKING_PRIVATE_KEY: Buffer.from(privateKey).toString('base64'),
    ENABLEBANKING_COUNTRIES: 'se, fi,SE',
  })
  assert.deepEqual(config.providers.enablebanking?.countries, ['FI', 'SE'])
})

test('a country that Enable Banking does not have is a warning with those that it has', () => {
  const given = { ...base, ENABLEBANKING_PRIVATE_KEY_FILE: 'key.pem' }
  const warningsOf = (countries: string) =>
    readConfig({ ...given, ENABLEBANKING_COUNTRIES: countries }, folder).warnings.filter((one) =>
      one.startsWith('ENABLEBANKING_COUNTRIES'),
    )
  assert.match(warningsOf('FI,UK,US').join(), /has UK, US, where .* it knows AT, BE/)
  assert.deepEqual(warningsOf('FI,SE'), [])
})

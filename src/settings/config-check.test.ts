/** Defaults that hold in every mode, and what an operator is warned of. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '#src/config.ts'

const read = (environment: Record<string, string> = {}) => readConfig(environment, '/srv/tributary')

const fiskil = { FISKIL_CLIENT_ID: 'team_1', FISKIL_CLIENT_SECRET: 'fiskil-secret' }
const live = { SANDBOX: 'false' }

test('DEFAULT_PLAN is professional in both modes, and what is set applies in both', () => {
  for (const mode of [{}, live, fiskil]) {
    assert.equal(read(mode).plans.defaultPlan, 'professional')
    assert.equal(read({ ...mode, DEFAULT_PLAN: 'none' }).plans.defaultPlan, 'none')
  }
})

test('a live installation where everybody may sign up is warned until DEFAULT_PLAN is set', () => {
  const open = { ...fiskil, SIGN_UP: 'open' }
  assert.match(read(open).warnings.join(), /SIGN_UP is open and DEFAULT_PLAN is not set/)
  for (const plan of ['none', 'professional']) {
    assert.doesNotMatch(read({ ...open, DEFAULT_PLAN: plan }).warnings.join(), /DEFAULT_PLAN/)
  }
  assert.doesNotMatch(read(fiskil).warnings.join(), /DEFAULT_PLAN/)
  assert.doesNotMatch(read({ SIGN_UP: 'open' }).warnings.join(), /DEFAULT_PLAN/)
})

test('the variables of setup are known, and their misspelt forms are not', () => {
  const warnings = read({ ...live, AKAHU_USER_TOKEN: 'x', UP_TOKEN: 'x', UP_TOKENS: 'x' }).warnings
  assert.deepEqual(
    warnings.filter((text) => text.includes('_TOKEN')),
    ['UP_TOKENS is not a variable of Tributary: it has no effect.'],
  )
})

test('mail without TLS to another host is a warning', () => {
  const plain = read({ SMTP_URL: 'smtp://relay.lan:25?tls=never' }).warnings.join()
  assert.match(plain, /SMTP_URL says tls=never/)
  assert.doesNotMatch(read({ SMTP_URL: 'smtp://relay.lan:25' }).warnings.join(), /SMTP_URL/)
})

test('a DATA_DIR below /proc is refused: making a directory there never ends', () => {
  for (const DATA_DIR of ['/proc', '/proc/x'])
    assert.throws(() => readConfig({ DATA_DIR }), /DATA_DIR: got "\/proc.*not below \/proc/)
  assert.equal(readConfig({ DATA_DIR: '/process' }).dataDir, '/process')
})

test('a DATA_DIR in quotes or with ~ is refused: it would be a new folder of that name', () => {
  for (const DATA_DIR of ['"./data"', "'/srv/data'", '~', '~/data'])
    assert.throws(() => readConfig({ DATA_DIR }), /DATA_DIR: got .*without quotes or ~/)
  assert.match(readConfig({ DATA_DIR: './~data' }).dataDir, /\/~data$/)
})

test('an ADMIN_TOKEN in quotes is named as that: callers would have to send the quotes', () => {
  for (const ADMIN_TOKEN of ['"a-long-enough-token"', "'a-long-enough-token'"])
    assert.throws(() => readConfig({ ADMIN_TOKEN }), /ADMIN_TOKEN: got a value in quotes/)
})

test('a base URL that ends in another path than the provider’s own is a warning that names both', () => {
  const live = {
    SANDBOX: 'false',
    FISKIL_CLIENT_ID: 'a',
    FISKIL_CLIENT_SECRET: 'b',
    SNAPTRADE_CLIENT_ID: 'c',
    SNAPTRADE_CONSUMER_KEY: 'd',
  }
  const isWarned = (variable: string, url: string) =>
    readConfig({ ...live, [variable]: url }).warnings.some((one) =>
      one.startsWith(`${variable} should end`),
    )
  const wrong = {
    FISKIL_BASE_URL: 'https://api.fiskil.com/v1',
    AKAHU_BASE_URL: 'https://api.akahu.io',
    SNAPTRADE_BASE_URL: 'https://api.snaptrade.com/api/v1/',
    UP_BASE_URL: 'https://api.up.com.au/v1',
  }
  const right = {
    FISKIL_BASE_URL: 'https://relay.example.com/fiskil',
    AKAHU_BASE_URL: 'https://relay.example.com/akahu/v1/',
    SNAPTRADE_BASE_URL: 'http://127.0.0.1:4030',
    UP_BASE_URL: 'https://api.up.com.au/api/v1',
  }
  for (const [variable, url] of Object.entries(wrong)) assert.ok(isWarned(variable, url), variable)
  for (const [variable, url] of Object.entries(right)) assert.ok(!isWarned(variable, url), variable)
})

test('a value that is too long is refused by its length and not shown', () => {
  for (const name of ['ADMIN_TOKEN', 'BASE_URL', 'AKAHU_APP_TOKEN']) {
    const refused = (error: unknown) =>
      error instanceof Error &&
      error.message.includes(`${name}: got 70000 characters, should have at most 8192`) &&
      !error.message.includes('zz')
    assert.throws(() => read({ [name]: 'z'.repeat(70_000) }), refused)
  }
  read({ ADMIN_TOKEN: 'z'.repeat(8192) })
})

test('a DATABASE_URL whose parameter port is no number is refused: the driver would wait without an end', () => {
  const given = (port: string) =>
    read({
      DATABASE_URL: `postgresql://user:hidden@host/db?port=${port}`,
      ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    })
  for (const port of ['abc', '', '-1', '1e3'])
    assert.throws(() => given(port), /DATABASE_URL: got a/)
  given('5433')
})

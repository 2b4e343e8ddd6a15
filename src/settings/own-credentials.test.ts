/** Whose credentials an installation has at a provider that is open to people's own keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '#src/config.ts'
import type { Environment } from './environment-file.ts'
import { hasOwnCredentials } from './own-credentials.ts'

const read = (environment: Environment) => readConfig(environment, '/srv/tributary')
const live = { SANDBOX: 'false' }

test('Akahu: an app token alone is a personal app, a secret makes it a full app, and neither leaves it to people', () => {
  const tokensOf = (environment: Environment) => {
    const { appToken, appSecret } = read(environment).providers.akahu ?? {}
    return [appToken?.reveal(), appSecret?.reveal()]
  }
  const personal = { AKAHU_APP_TOKEN: 'app_token_1' }
  assert.deepEqual(tokensOf(personal), ['app_token_1', undefined])
  assert.deepEqual(tokensOf({ ...personal, AKAHU_APP_SECRET: 's' }), ['app_token_1', 's'])
  assert.deepEqual(tokensOf(live), [undefined, undefined])
  assert.equal(hasOwnCredentials(read(personal).providers, 'akahu'), true)
  assert.equal(hasOwnCredentials(read(live).providers, 'akahu'), false)
  // A personal app says that Akahu is wanted, so the sandbox does not start.
  assert.deepEqual([read(personal).mode, read({}).mode], ['live', 'sandbox'])
  assert.doesNotMatch(read(personal).warnings.join(), /No provider/)
  assert.throws(
    () => read({ AKAHU_APP_SECRET: 's' }),
    /AKAHU_APP_TOKEN: not set, should be set together with AKAHU_APP_SECRET/,
  )
})

test('SnapTrade: its key is commercial unless SNAPTRADE_KEY says personal, and neither is guessed from the key', () => {
  const key = { SNAPTRADE_CLIENT_ID: 'PERSONAL-1', SNAPTRADE_CONSUMER_KEY: 'k' }
  const kindOf = (environment: Environment) => read(environment).providers.snaptrade?.keyKind
  assert.deepEqual([kindOf(key), kindOf(live)], ['commercial', 'commercial'])
  assert.equal(kindOf({ ...key, SNAPTRADE_KEY: 'personal' }), 'personal')
  assert.throws(
    () => read({ ...key, SNAPTRADE_KEY: 'Personal' }),
    /SNAPTRADE_KEY: got "Personal", should be one of commercial, personal/,
  )
  assert.throws(
    () => read({ SNAPTRADE_CLIENT_ID: 'c', SNAPTRADE_KEY: 'personal' }),
    /SNAPTRADE_CONSUMER_KEY: not set, should be set together with SNAPTRADE_CLIENT_ID/,
  )
})

test('SnapTrade: without a key people link their own, and a kind without a key has no effect, which is said', () => {
  const { clientId, consumerKey, baseUrl } = read(live).providers.snaptrade ?? {}
  assert.deepEqual([clientId, consumerKey], [null, null])
  assert.equal(baseUrl, 'https://api.snaptrade.com')
  assert.equal(hasOwnCredentials(read(live).providers, 'snaptrade'), false)
  const key = { SNAPTRADE_CLIENT_ID: 'c', SNAPTRADE_CONSUMER_KEY: 'k', SNAPTRADE_KEY: 'personal' }
  assert.equal(hasOwnCredentials(read(key).providers, 'snaptrade'), true)
  // A key says that SnapTrade is wanted, so the sandbox does not start; its kind alone says nothing.
  assert.deepEqual([read(key).mode, read({ SNAPTRADE_KEY: 'personal' }).mode], ['live', 'sandbox'])
  assert.doesNotMatch(read(key).warnings.join(), /SNAPTRADE_KEY/)
  assert.match(
    read({ ...live, SNAPTRADE_KEY: 'personal' }).warnings.join(),
    /SNAPTRADE_KEY is set, but SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY are not: it has no effect\./,
  )
  assert.match(
    read({ ...live, AKAHU_OAUTH_URL: 'https://oauth.example' }).warnings.join(),
    /AKAHU_OAUTH_URL is set, but AKAHU_APP_TOKEN is not: it has no effect\./,
  )
})

test('a setting for the keys of people is not called without effect where the installation needs none', () => {
  const { warnings } = read({ SIMPLEFIN_ALLOW_PRIVATE: 'true', SANDBOX: 'false' })
  assert.doesNotMatch(warnings.join(), /SIMPLEFIN_ALLOW_PRIVATE/)
})

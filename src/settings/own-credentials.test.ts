/** Whose credentials an installation has at a provider that is open to people's own keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '#src/config.ts'
import type { Environment } from './config-types.ts'
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

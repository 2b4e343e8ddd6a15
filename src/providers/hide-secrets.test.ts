/** Proves that secrets leave a provider's sentence, and that the sentence is left as it was otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hideSecrets } from './hide-secrets.ts'

test('a secret is hidden wherever it stands, the longest first', () => {
  const secrets = ['user_token_1', 'user_token_1234', 'app$ecret.1']
  assert.equal(
    hideSecrets('xuser_token_1234x user_token_1 app$ecret.1', secrets),
    'x[secret]x [secret] [secret]',
  )
})

test('a short secret is hidden where it stands alone, and never takes words apart', () => {
  assert.equal(hideSecrets('bad key=s3cr for as3cret', ['s3cr']), 'bad key=[secret] for as3cret')
  const sentence = 'Invalid userID or userSecret provided'
  assert.equal(hideSecrets(sentence, ['u', 'user', 'or', '', 'Sec']), sentence)
})

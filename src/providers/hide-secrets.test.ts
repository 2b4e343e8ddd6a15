/** Checks that secrets are removed from a provider's message and that the rest of it is unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hideSecrets } from './hide-secrets.ts'

test('a secret is hidden at any place, the longest first', () => {
  const secrets = ['user_token_1', 'user_token_1234', 'app$ecret.1']
  assert.equal(
    hideSecrets('xuser_token_1234x user_token_1 app$ecret.1', secrets),
    'x[secret]x [secret] [secret]',
  )
})

test('a short secret is hidden only as a separate word', () => {
  assert.equal(hideSecrets('bad key=s3cr for as3cret', ['s3cr']), 'bad key=[secret] for as3cret')
  const sentence = 'Invalid userID or userSecret provided'
  assert.equal(hideSecrets(sentence, ['u', 'user', 'or', '', 'Sec']), sentence)
})

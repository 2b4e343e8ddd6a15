/** Which texts are told apart from the keys of a provider without a call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeMisplaced, describeWrongKey } from './misplaced-key.ts'

test('a key of another provider or of Tributary and a value in quotes are named, at every provider', () => {
  for (const provider of ['fiskil', 'akahu', 'snaptrade', 'up'] as const) {
    for (const text of ['"key"', "'key", 'key`', '“key”']) {
      assert.equal(describeMisplaced(provider, text), 'a value in quotes')
    }
    const ofUp = provider === 'up' ? null : 'a key of Up, which begins with "up:"'
    assert.equal(describeMisplaced(provider, 'up:yeah:1'), ofUp)
    const ofAkahu = provider === 'akahu' ? null : 'a key of Akahu, which begins with "user_token_"'
    assert.equal(describeMisplaced(provider, 'user_token_1'), ofAkahu)
    for (const text of ['https://u:p@bridge.example/simplefin', 'aHR0cHM6Ly9icmlkZ2UuZXhhbXBsZS9j'])
      assert.match(
        describeMisplaced(provider, text) ?? '',
        /^a key of SimpleFIN, which begins with /,
      )
    for (const text of ['trib_live_1', 'trib_admin_1'])
      assert.match(describeMisplaced(provider, text) ?? '', /^a key of Tributary itself, which /)
    assert.equal(describeMisplaced(provider, 'PERSONAL-1'), null)
  }
})

test('a key with a beginning of its own must have it, where its provider is known to begin so', () => {
  assert.match(describeWrongKey('akahu', 'appToken', 'user_token_1') ?? '', /"app_token_"/)
  assert.match(describeWrongKey('akahu', 'userToken', 'token') ?? '', /"user_token_"/)
  assert.match(describeWrongKey('up', 'token', 'yeah:1') ?? '', /"up:"/)
  for (const text of ['http://u:p@127.0.0.1/simplefin', 'aHR0cDovLzEyNy4wLjAuMS9j'])
    assert.equal(describeWrongKey('simplefin', 'setupToken', text), null)
  assert.match(describeWrongKey('simplefin', 'setupToken', 'u:p@host') ?? '', /"https:/)
  assert.equal(describeWrongKey('akahu', 'appSecret', 'anything'), null)
  assert.equal(describeWrongKey('snaptrade', 'clientId', 'anything'), null)
})

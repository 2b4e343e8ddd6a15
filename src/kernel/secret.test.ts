/** Proves that a secret cannot be printed by accident and can be had on purpose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Secret } from './secret.ts'

test('a secret prints as [secret] in text, JSON and the inspector, however deep it lies', () => {
  const secret = new Secret('hunter2')
  const holder = { deep: [{ secret }] }
  for (const shown of [
    `${secret}`,
    JSON.stringify(holder),
    inspect(holder, { depth: 9, showHidden: true }),
    Object.entries(secret).join(),
  ]) {
    assert.doesNotMatch(shown, /hunter2/)
  }
  assert.match(JSON.stringify(holder), /\[secret\]/)
})

test('a secret gives its value to whoever asks by name', () => {
  assert.equal(new Secret('hunter2').reveal(), 'hunter2')
})

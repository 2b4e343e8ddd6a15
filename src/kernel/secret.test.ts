/** Checks that a secret is never printed by accident, and that `reveal` returns it. */
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

test('reveal returns the value of a secret', () => {
  assert.equal(new Secret('hunter2').reveal(), 'hunter2')
})

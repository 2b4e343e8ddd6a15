import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRecoveryCodes, readRecoveryCode } from './recovery-codes.ts'

test('ten codes of 80 bits, all different, each with the hash that it is read as', () => {
  const { codes, hashes } = makeRecoveryCodes()
  assert.equal(new Set(codes).size, 10)
  for (const [index, code] of codes.entries()) {
    assert.match(code, /^(?:[2-9a-km-np-z]{4}-){3}[2-9a-km-np-z]{4}$/)
    assert.deepEqual(readRecoveryCode(code.replaceAll('-', '').toUpperCase()), hashes[index])
  }
})

test('what has another form is no recovery code', () => {
  for (const typed of ['', '123456', 'a'.repeat(15), 'a'.repeat(17), `${'a'.repeat(15)}0`]) {
    assert.equal(readRecoveryCode(typed), null, typed)
  }
})

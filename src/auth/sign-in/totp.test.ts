import assert from 'node:assert/strict'
import { test } from 'node:test'
import { totpOf } from '#tests/support/totp.ts'
import { findStep, makeTotpSecret, toTotpText, toTotpUri } from './totp.ts'

/** The secret of the test vectors, and the last six of their eight digits: RFC 6238, Appendix B. */
const secret = new Uint8Array(Buffer.from('12345678901234567890'))
const vectors = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
] as const

test('the codes are those of RFC 6238, and the app of the tests computes the same', () => {
  for (const [seconds, code] of vectors) {
    assert.equal(findStep(secret, code, seconds * 1000), Math.floor(seconds / 30))
    assert.equal(totpOf(toTotpText(secret), seconds * 1000), code)
  }
})

test('one step to either side is accepted, as the step that it is; two are not', () => {
  const now = 1_234_567_890_000
  const code = (steps: number) => totpOf(toTotpText(secret), now + steps * 30_000)
  const step = Math.floor(now / 30_000)
  assert.deepEqual(
    [-2, -1, 0, 1, 2].map((steps) => findStep(secret, code(steps), now)),
    [null, step - 1, step, step + 1, null],
  )
})

test('what has not six digits is no code', () => {
  for (const code of ['', '28708', '2870820', '28708a', ' 287082', '２８７０８２']) {
    assert.equal(findStep(secret, code, 59_000), null, code)
  }
})

test('a new secret has 160 random bits; its address names the service and the account', () => {
  const [one, other] = [makeTotpSecret(), makeTotpSecret()]
  assert.equal(one.length, 20)
  assert.notDeepEqual(one, other)
  const uri = new URL(toTotpUri(one, 'emma+x@example.test'))
  assert.equal(uri.protocol, 'otpauth:')
  assert.equal(decodeURIComponent(uri.pathname), '/Tributary:emma+x@example.test')
  assert.equal(uri.searchParams.get('secret'), toTotpText(one))
  assert.equal(uri.searchParams.get('issuer'), 'Tributary')
})

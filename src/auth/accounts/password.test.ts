import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAcceptable, makePasswords, PasswordsBusyError } from './password.ts'

test('a password opens with itself and with nothing else, and two hashes of it differ', async () => {
  const passwords = makePasswords()
  const [one, other] = await Promise.all([
    passwords.hash('correct horse'),
    passwords.hash('correct horse'),
  ])
  assert.notEqual(one, other)
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.equal(await passwords.check('correct horse', one), true)
  assert.equal(await passwords.check('correct horsf', one), false)
})

test('one character in two spellings is one password', async () => {
  const passwords = makePasswords()
  const stored = await passwords.hash('caf\u00e9 au lait')
  assert.equal(await passwords.check('cafe\u0301 au lait', stored), true)
})

test('an account that does not exist never opens, whatever the password', async () => {
  assert.equal(await makePasswords().check('anything at all', null), false)
})

test('ten characters are enough and 256 the most, counted as a person counts them', () => {
  assert.equal(isAcceptable('123456789'), false)
  assert.equal(isAcceptable('1234567890'), true)
  assert.equal(isAcceptable('🙂'.repeat(9)), false)
  assert.equal(isAcceptable('🙂'.repeat(10)), true)
  assert.equal(isAcceptable('x'.repeat(257)), false)
})

test('a flood of sign-ins is refused instead of filling the memory', async () => {
  const passwords = makePasswords()
  const results = await Promise.allSettled(
    Array.from({ length: 90 }, () => passwords.hash('flood flood')),
  )
  const refused = results.filter((result) => result.status === 'rejected')
  assert(refused.length > 0)
  for (const result of refused) assert(result.reason instanceof PasswordsBusyError)
  assert.equal(await passwords.check('x', null), false, 'and afterwards it goes on')
})

test('a damaged hash is an error, not a wrong password', async () => {
  await assert.rejects(makePasswords().check('anything', '$argon2id$broken'), /damaged/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PasswordsBusyError } from './hashing-queue.ts'
import { isAcceptable, makePasswords } from './password.ts'

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

test('at most four passwords are hashed at once, 64 wait, and the next one is refused', async () => {
  const gates: PromiseWithResolvers<Buffer>[] = []
  const passwords = makePasswords(() => {
    const gate = Promise.withResolvers<Buffer>()
    gates.push(gate)
    return gate.promise
  })
  const flood = Array.from({ length: 68 }, () => passwords.hash('flood flood'))
  await assert.rejects(passwords.check('one too many', null), PasswordsBusyError)
  assert.equal(gates.length, 4)
  for (let done = 0; done < 68; done += 1) {
    gates[done]?.resolve(Buffer.alloc(32))
    // A sign-in that arrives exactly when a place is passed on must not overtake the waiting ones.
    const latecomer = done === 10 ? passwords.hash('late late late') : null
    await flood[done]
    if (latecomer !== null) flood.push(latecomer)
    assert(gates.length - done - 1 <= 4, `${gates.length - done - 1} at once`)
  }
  gates[68]?.resolve(Buffer.alloc(32))
  await Promise.all(flood)
  assert.equal(gates.length, 69, 'and afterwards it goes on')
})

test('a hash that fails does not block the queue', async () => {
  let broken = true
  const passwords = makePasswords(async () => {
    if (broken) throw new Error('out of memory')
    return Buffer.alloc(32)
  })
  for (let attempt = 0; attempt < 9; attempt += 1) {
    await assert.rejects(passwords.hash('no luck at all'), /out of memory/)
  }
  broken = false
  await passwords.hash('better luck now')
})

test('an account that does not exist costs the same work as one that does', async () => {
  const costs: unknown[] = []
  const passwords = makePasswords(async (_password, _nonce, cost) => {
    costs.push(cost)
    return Buffer.alloc(32)
  })
  const stored = await passwords.hash('something stored')
  costs.length = 0
  assert.equal(await passwords.check('a guess', stored), true)
  // With `stored` null even a tag that fits is refused.
  assert.equal(await passwords.check('a guess', null), false)
  assert.deepEqual(costs[0], costs[1])
  assert.equal(costs.length, 2)
})

test('a damaged hash is an error, not a wrong password', async () => {
  await assert.rejects(makePasswords().check('anything', '$argon2id$broken'), /damaged/)
})

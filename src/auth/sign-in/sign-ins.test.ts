import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type By, byOperator, type Visitor } from '#contract/actor.ts'
import { openMemoryKv } from '#fast/memory.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { makeSealer } from '#store/seal.ts'
import { makeMigratedPlace, openSqliteStore } from '#tests/contract/store/place.ts'
import { type HashingTurn, makeHashingQueue } from './hashing-queue.ts'
import { makePasswords, type Passwords } from './password.ts'
import { makeSessions } from './sessions.ts'
import { makeSignIns, type SignInsOptions } from './sign-ins.ts'

const good = { name: 'Emma', email: 'Emma@Example.com', password: 'correct horse' }
const here = '203.0.113.7'
const visitor: By<Visitor> = { actor: { kind: 'visitor', address: here } }
const elsewhere: By<Visitor> = { actor: { kind: 'visitor', address: '198.51.100.1' } }

/** Fast hashes for tests; password.test.ts proves how slow the real ones are. */
function makeFastPasswords() {
  let hashed = 0
  const passwords = makePasswords(async (password, nonce) => {
    hashed += 1
    return Buffer.concat([nonce, Buffer.from(password), Buffer.alloc(32)]).subarray(0, 32)
  })
  return { passwords, hashedSoFar: () => hashed }
}

const home = 'https://tributary.example.test'

async function open(t: TestContext, over: Partial<SignInsOptions> = {}) {
  const place = makeMigratedPlace()
  const store = await place.open()
  let now = Date.UTC(2026, 10, 21)
  const clock = { now: () => now }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  t.after(async () => {
    await kv.close()
    await store.close()
    await place.remove()
  })
  const { passwords, hashedSoFar } = makeFastPasswords()
  const signIns = makeSignIns({
    store,
    clock,
    windows: kv.windows,
    passwords,
    signInLimit: 30,
    secrets: [new Uint8Array(32)],
    signUp: 'open',
    origins: () => ({ base: home, mcp: home, auth: home }),
    sealer: makeSealer([new Uint8Array(32)]),
    onDamaged: (error) => assert.fail(error),
    ...over,
  })
  return {
    store,
    signIns,
    hashedSoFar,
    sessions: makeSessions({ store, clock }),
    pass: (ms: number) => {
      now += ms
    },
    enter: async (email: string, password: string, address = here) =>
      (await signIns.signIn({ email, password }, address)).kind,
    /** Closes the store: must be the last call of a test. */
    async readAudit() {
      await store.close()
      const db = new DatabaseSync(join(place.dataDir, 'tributary.db'), { readOnly: true })
      try {
        return db.prepare('select actor, action, user_id, subject from audit order by rowid').all()
      } finally {
        db.close()
      }
    },
  }
}

test('after a sign-up the address works in any case and spelling, and only with that password', async (t) => {
  const { signIns, enter } = await open(t)
  const made = await signIns.signUp(visitor, { ...good, email: ' zo\u00eb@example.com ' })
  assert(made.kind === 'made')
  assert.equal(made.user.email, 'zo\u00eb@example.com')
  assert.equal(made.user.name, 'Emma')
  assert.equal(await enter('ZOE\u0308@EXAMPLE.COM', good.password), 'in')
  assert.equal(await enter('zo\u00eb@example.com', 'correct horsf'), 'refused')
  assert.equal(await enter('zo\u00eb@example.com', ''), 'refused')
})

test('an unknown address, no address at all and a user without password are refused alike, for the same work', async (t) => {
  const { signIns, store, hashedSoFar } = await open(t)
  await store.users.create({ ...userRow, email: 'keys@only.example' })
  await signIns.signUp(visitor, good)
  const before = hashedSoFar()
  const tries = ['nobody@example.com', 'no address', '', 'keys@only.example', good.email]
  for (const [index, email] of tries.entries()) {
    const result = await signIns.signIn({ email, password: 'a wrong guess' }, here)
    assert.deepEqual(result, { kind: 'refused' })
    assert.equal(hashedSoFar() - before, index + 1, `one hash for "${email}"`)
  }
})

test('an account is tried ten times, then once a minute, wherever from and however spelled', async (t) => {
  const { signIns, enter, pass, hashedSoFar } = await open(t)
  await signIns.signUp(elsewhere, good)
  for (let count = 0; count < 10; count += 1) {
    assert.equal(await enter(good.email, 'a wrong guess', `198.51.100.${count + 2}`), 'refused')
  }
  const before = hashedSoFar()
  const spelled = ' EMMA@example.COM '
  const refused = await signIns.signIn({ email: spelled, password: good.password }, '203.0.113.5')
  assert.deepEqual(refused, { kind: 'slow_down', retryAfterSeconds: 60 })
  assert.equal(hashedSoFar(), before, 'no work is done for it')
  assert.equal(await enter('other@example.com', 'x', '198.51.100.6'), 'refused', 'others go on')
  pass(60_000)
  assert.equal(await enter(good.email, good.password, '203.0.113.5'), 'in')
  for (let count = 0; count < 10; count += 1) {
    assert.equal(await enter(good.email, 'a wrong guess', `198.51.100.${count + 2}`), 'refused')
  }
})

test('an attempt refused by the limit of its address does not count against the account', async (t) => {
  const { signIns, enter } = await open(t, { signInLimit: 5 })
  await signIns.signUp(elsewhere, good)
  for (let count = 0; count < 200; count += 1) await enter(good.email, 'a wrong guess', here)
  for (let count = 0; count < 5; count += 1) {
    assert.equal(await enter(good.email, 'a wrong guess', '198.51.100.2'), 'refused')
  }
  const owner = await signIns.signIn(good, '198.51.100.3')
  assert.deepEqual(owner, { kind: 'slow_down', retryAfterSeconds: 60 }, 'ten were looked at')
})

test('a browser that signed in before is admitted while others lock the account, and does not clear their failures', async (t) => {
  const { signIns, enter } = await open(t)
  const made = await signIns.signUp(visitor, good)
  assert(made.kind === 'made')
  for (let count = 0; count < 10; count += 1) {
    await enter(good.email, 'a wrong guess', `198.51.100.${count + 2}`)
  }
  assert.equal((await signIns.signIn(good, here)).kind, 'slow_down', 'without its cookie')
  const known = await signIns.signIn(good, here, made.browser)
  assert(known.kind === 'in')
  assert.equal(await enter(good.email, 'a wrong guess', '198.51.100.99'), 'slow_down')
  const wrong = { ...good, password: 'a wrong guess' }
  for (let count = 0; count < 10; count += 1) {
    assert.equal((await signIns.signIn(wrong, here, known.browser)).kind, 'refused')
  }
  assert.equal((await signIns.signIn(good, here, known.browser)).kind, 'slow_down', 'its own ten')
})

test('an account that exists and one that does not are slowed down at the same step, with the same words', async (t) => {
  const { signIns, pass } = await open(t, { signInLimit: 1000 })
  await signIns.signUp(visitor, good)
  for (let step = 0; step < 40; step += 1) {
    const tries = [good.email, 'nobody@example.com'].map((email) =>
      signIns.signIn({ email, password: 'a wrong guess' }, here),
    )
    const [real, made] = await Promise.all(tries)
    assert.deepEqual(real, made, `step ${step}`)
    if (step > 15) pass(step * 1000)
  }
})

test('a failure of ours counts nothing against the account', async (t) => {
  let isBroken = false
  const passwords = makePasswords(async () => {
    if (isBroken) throw new Error('out of memory')
    return Buffer.alloc(32)
  })
  const { signIns, enter } = await open(t, { passwords })
  await signIns.signUp(visitor, good)
  isBroken = true
  for (let count = 0; count < 12; count += 1) {
    await assert.rejects(enter(good.email, good.password, `198.51.100.${count + 2}`), /memory/)
  }
  isBroken = false
  assert.equal(await enter(good.email, good.password), 'in')
})

test('an address is limited over all accounts; an IPv6 /64 counts as one address', async (t) => {
  const { enter } = await open(t, { signInLimit: 2 })
  for (const [first, second, third] of [
    [here, here, here],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:db8:1:2::3'],
  ]) {
    assert.equal(await enter('a@example.com', 'x', first), 'refused')
    assert.equal(await enter('b@example.com', 'x', second), 'refused')
    assert.equal(await enter('c@example.com', 'x', third), 'slow_down')
  }
  assert.equal(await enter('d@example.com', 'x', '2001:db8:1:3::1'), 'refused')
})

test('sign-up is counted with sign-in, and a limit of 0 is none', async (t) => {
  const bounded = await open(t, { signInLimit: 1 })
  assert.equal((await bounded.signIns.signUp(visitor, good)).kind, 'made')
  const second = await bounded.signIns.signUp(visitor, { ...good, email: 'b@example.com' })
  assert.deepEqual(second, { kind: 'slow_down', retryAfterSeconds: 60 })
  const open0 = await open(t, { signInLimit: 0 })
  for (let tries = 0; tries < 50; tries += 1) {
    assert.equal(await open0.enter('a@example.com', 'x'), 'refused')
  }
})

test('all wrong fields of a sign-up are reported at once, and no user is created', async (t) => {
  const { signIns, store, hashedSoFar } = await open(t)
  const result = await signIns.signUp(visitor, { name: ' ', email: 'nobody', password: 'short' })
  assert(result.kind === 'invalid')
  assert.deepEqual(Object.keys(result.problems).sort(), ['email', 'name', 'password'])
  for (const name of ['x'.repeat(101), 'a\u0000b', 'two\nlines']) {
    const { kind } = await signIns.signUp(visitor, { ...good, name })
    assert.equal(kind, 'invalid', JSON.stringify(name))
  }
  await assert.rejects(signIns.signUp(visitor, { ...good, plan: 'professional' }), {
    entry: 'invalid_params',
  })
  assert.deepEqual(await store.users.list(), [])
  assert.equal(hashedSoFar(), 0)
})

test('an address has one account: the second sign-up leaves the first as it was', async (t) => {
  const { signIns, enter } = await open(t)
  await signIns.signUp(visitor, good)
  const again = await signIns.signUp(visitor, {
    ...good,
    email: 'emma@example.com',
    password: 'another password',
  })
  assert(again.kind === 'invalid')
  assert.match(again.problems.email ?? '', /sign in instead/)
  assert.equal(await enter(good.email, good.password), 'in')
  assert.equal(await enter(good.email, 'another password'), 'refused')
})

test('with SIGN_UP=invite sign-up is refused, and users that the operator created can sign in', async (t) => {
  const { signIns, store, enter } = await open(t, { signUp: 'invite' })
  assert.equal(signIns.signUpIsOpen, false)
  assert.deepEqual(await signIns.signUp(visitor, good), { kind: 'closed' })
  assert.deepEqual(await store.users.list(), [])
  const passwordHash = await signIns.hashPassword(good.password)
  await store.users.create({ ...userRow, email: good.email, passwordHash })
  assert.equal(await enter(good.email, good.password), 'in')
})

test('a new password replaces the old one and ends every session', async (t) => {
  const { signIns, sessions, enter } = await open(t)
  const made = await signIns.signUp(visitor, good)
  assert(made.kind === 'made')
  const { token = null } = (await sessions.start(visitor, made.proof, null)) ?? {}
  assert.notEqual(await sessions.find(token), null)
  await signIns.setPassword(byOperator, made.user.id, { password: 'a new password' })
  assert.equal(await sessions.find(token), null)
  assert.equal(await enter(good.email, good.password), 'refused')
  assert.equal(await enter(good.email, 'a new password'), 'in')
  const nobody = signIns.setPassword(byOperator, newId<UserId>(), { password: 'a new password' })
  await assert.rejects(nobody, { code: 'user_not_found' })
})

test('a password that was changed after its check starts no session', async (t) => {
  const { signIns, sessions } = await open(t)
  await signIns.signUp(visitor, good)
  const entered = await signIns.signIn(good, here)
  assert(entered.kind === 'in')
  await signIns.setPassword(byOperator, entered.user.id, { password: 'a new password' })
  assert.equal(await sessions.start(visitor, entered.proof, null), null)
  assert.ok(!JSON.stringify(entered.proof).includes('argon2'))
})

test('a full hashing queue answers with a time to retry, and counts no failure', async (t) => {
  const gate = Promise.withResolvers<Buffer>()
  const full = makePasswords(
    () => gate.promise,
    makeHashingQueue({ maxAtOnce: 1, maxAddresses: 1 }),
  )
  const { signIns } = await open(t, { passwords: full, signInLimit: 1000 })
  const flood = ['198.51.100.1', '198.51.100.2'].map((from) =>
    full.check('flood', null, { from, isKnown: false }),
  )
  const later = { kind: 'busy', retryAfterSeconds: 5 }
  for (let count = 0; count < 20; count += 1) {
    assert.deepEqual(await signIns.signIn({ email: 'a@b.example', password: 'x' }, here), later)
    assert.deepEqual(await signIns.signUp(visitor, good), later)
  }
  gate.resolve(Buffer.alloc(32))
  await Promise.all(flood)
  assert.equal((await signIns.signUp(visitor, good)).kind, 'made')
  const { kind } = await signIns.signIn({ email: 'a@b.example', password: 'x' }, here)
  assert.equal(kind, 'refused')
})

test('one account in a known browser has one turn in the queue, from any number of addresses', async (t) => {
  const turns: HashingTurn[] = []
  const { passwords } = makeFastPasswords()
  const watched: Passwords = {
    hash: (password, turn) => passwords.hash(password, turn),
    check(password, stored, turn) {
      if (turn !== undefined) turns.push(turn)
      return passwords.check(password, stored, turn)
    },
  }
  const { signIns } = await open(t, { passwords: watched })
  const made = await signIns.signUp(visitor, good)
  assert(made.kind === 'made')
  for (const from of ['198.51.100.1', '198.51.100.2']) {
    assert.equal((await signIns.signIn(good, from, made.browser)).kind, 'in')
    assert.equal((await signIns.signIn(good, from)).kind, 'in')
  }
  assert.deepEqual(turns, [
    { from: made.user.id, isKnown: true },
    { from: '198.51.100.1', isKnown: false },
    { from: made.user.id, isKnown: true },
    { from: '198.51.100.2', isKnown: false },
  ])
})

test('the store is asked the same questions whether an account exists or not', async (t) => {
  const store = await openSqliteStore(t)
  const asked: string[] = []
  const watched: typeof store = {
    ...store,
    users: {
      ...store.users,
      find(email) {
        asked.push('user')
        return store.users.find(email)
      },
    },
    sessions: {
      ...store.sessions,
      findPassword(userId) {
        asked.push('password')
        return store.sessions.findPassword(userId)
      },
    },
  }
  const { signIns } = await open(t, { store: watched })
  await signIns.signUp(visitor, good)
  for (const email of [good.email, 'nobody@example.com']) {
    asked.length = 0
    assert.equal((await signIns.signIn({ email, password: 'a wrong one' }, here)).kind, 'refused')
    assert.deepEqual(asked, ['user', 'password'], email)
  }
})

test('a created account and a refusal are in the audit, and no entry contains a password or a guessed address', async (t) => {
  const { signIns, enter, readAudit } = await open(t)
  const made = await signIns.signUp(visitor, good)
  assert(made.kind === 'made')
  await enter(good.email, good.password)
  await enter(good.email, 'guessed-password')
  await enter('guessed@example.com', 'guessed-password')
  const rows = await readAudit()
  assert.deepEqual(
    rows.map(({ actor, action, user_id }) => [actor, action, user_id]),
    [
      [here, 'account.signed-up', made.user.id],
      [here, 'account.sign-in-refused', made.user.id],
      [here, 'account.sign-in-refused', null],
    ],
  )
  assert.ok(!/guessed|horse/.test(JSON.stringify(rows)))
})

const userRow = {
  timezone: null,
  plan: null,
  status: 'active',
  legacyUntil: null,
  grandfathered: false,
  createdAt: 0,
} as const

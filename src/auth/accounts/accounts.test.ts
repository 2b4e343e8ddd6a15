import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import { openMemoryKv } from '#store/kv/memory.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { type AccountsOptions, isEmail, makeAccounts } from './accounts.ts'
import { makePasswords } from './password.ts'
import { makeSessions } from './sessions.ts'

const good = { name: 'Emma', email: 'Emma@Example.com', password: 'correct horse' }
const here = '203.0.113.7'

/** Fast hashes: how slow the real ones are is proven beside them. */
function makeFastPasswords() {
  let hashed = 0
  const passwords = makePasswords(async (password, nonce) => {
    hashed += 1
    return Buffer.concat([nonce, Buffer.from(password), Buffer.alloc(32)]).subarray(0, 32)
  })
  return { passwords, hashedSoFar: () => hashed }
}

async function open(t: TestContext, over: Partial<AccountsOptions> = {}) {
  const place = makeSqlitePlace()
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
  const accounts = makeAccounts({
    store,
    clock,
    windows: kv.windows,
    passwords,
    signInLimit: 30,
    signUp: 'open',
    ...over,
  })
  return {
    store,
    accounts,
    hashedSoFar,
    sessions: makeSessions({ store, clock }),
    pass: (ms: number) => {
      now += ms
    },
    enter: async (email: string, password: string, address = here) =>
      (await accounts.signIn({ email, password }, address)).kind,
    /** Closes the store: the last thing a test does. */
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

test('whoever signed up signs in with the address in any case and spelling, and with that password alone', async (t) => {
  const { accounts, enter } = await open(t)
  const made = await accounts.signUp({ ...good, email: ' zo\u00eb@example.com ' }, here)
  assert(made.kind === 'made')
  assert.equal(made.user.email, 'zo\u00eb@example.com')
  assert.equal(made.user.name, 'Emma')
  assert.equal(await enter('ZOE\u0308@EXAMPLE.COM', good.password), 'in')
  assert.equal(await enter('zo\u00eb@example.com', 'correct horsf'), 'refused')
  assert.equal(await enter('zo\u00eb@example.com', ''), 'refused')
})

test('an unknown address, no address at all and a user without password are refused alike, for the same work', async (t) => {
  const { accounts, store, hashedSoFar } = await open(t)
  await store.users.create({ ...userRow, email: 'keys@only.example' })
  await accounts.signUp(good, here)
  const before = hashedSoFar()
  const tries = ['nobody@example.com', 'no address', '', 'keys@only.example', good.email]
  for (const [index, email] of tries.entries()) {
    const result = await accounts.signIn({ email, password: 'a wrong guess' }, here)
    assert.deepEqual(result, { kind: 'refused' })
    assert.equal(hashedSoFar() - before, index + 1, `one hash for "${email}"`)
  }
})

test('an account is never tried more than the limit says in a minute, wherever from and however spelled', async (t) => {
  const { accounts, enter, pass, hashedSoFar } = await open(t, { signInLimit: 3 })
  await accounts.signUp(good, '198.51.100.1')
  for (const address of ['198.51.100.2', '198.51.100.3', '198.51.100.4']) {
    assert.equal(await enter(good.email, 'a wrong guess', address), 'refused')
  }
  const before = hashedSoFar()
  const spelled = ' EMMA@example.COM '
  const refused = await accounts.signIn({ email: spelled, password: good.password }, '198.51.100.5')
  assert.deepEqual(refused, { kind: 'slow_down', retryAfterSeconds: 60 })
  assert.equal(hashedSoFar(), before, 'no work is done for it')
  assert.equal(await enter('other@example.com', 'x', '198.51.100.6'), 'refused', 'others go on')
  pass(60_000)
  assert.equal(await enter(good.email, good.password, '198.51.100.5'), 'in')
})

test('an address tries no more than the limit says, whomever; an IPv6 customer is one address', async (t) => {
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
  assert.equal((await bounded.accounts.signUp(good, here)).kind, 'made')
  const second = await bounded.accounts.signUp({ ...good, email: 'b@example.com' }, here)
  assert.deepEqual(second, { kind: 'slow_down', retryAfterSeconds: 60 })
  const open0 = await open(t, { signInLimit: 0 })
  for (let tries = 0; tries < 50; tries += 1) {
    assert.equal(await open0.enter('a@example.com', 'x'), 'refused')
  }
})

test('every wrong field of a sign-up is told at once, and nobody is made', async (t) => {
  const { accounts, store, hashedSoFar } = await open(t)
  const result = await accounts.signUp({ name: ' ', email: 'nobody', password: 'short' }, here)
  assert(result.kind === 'invalid')
  assert.deepEqual(Object.keys(result.problems).sort(), ['email', 'name', 'password'])
  for (const name of ['x'.repeat(101), 'a\u0000b', 'two\nlines']) {
    const { kind } = await accounts.signUp({ ...good, name }, here)
    assert.equal(kind, 'invalid', JSON.stringify(name))
  }
  assert.deepEqual(await store.users.list(), [])
  assert.equal(hashedSoFar(), 0)
})

test('an address has one account: the second sign-up leaves the first as it was', async (t) => {
  const { accounts, enter } = await open(t)
  await accounts.signUp(good, here)
  const again = await accounts.signUp(
    { ...good, email: 'emma@example.com', password: 'another password' },
    here,
  )
  assert(again.kind === 'invalid')
  assert.match(again.problems.email ?? '', /sign in instead/)
  assert.equal(await enter(good.email, good.password), 'in')
  assert.equal(await enter(good.email, 'another password'), 'refused')
})

test('where the operator makes the accounts nobody signs up, and those may sign in', async (t) => {
  const { accounts, store, enter } = await open(t, { signUp: 'invite' })
  assert.equal(accounts.signUpIsOpen, false)
  assert.deepEqual(await accounts.signUp(good, here), { kind: 'closed' })
  assert.deepEqual(await store.users.list(), [])
  const passwordHash = await accounts.hashPassword(good.password)
  await store.users.create({ ...userRow, email: good.email, passwordHash })
  assert.equal(await enter(good.email, good.password), 'in')
})

test('a new password replaces the old one and ends every session', async (t) => {
  const { accounts, sessions, enter } = await open(t)
  const made = await accounts.signUp(good, here)
  assert(made.kind === 'made')
  const { token } = await sessions.start(made.user.id)
  assert.equal(await accounts.setPassword(made.user.id, 'a new password'), true)
  assert.equal(await sessions.find(token), null)
  assert.equal(await enter(good.email, good.password), 'refused')
  assert.equal(await enter(good.email, 'a new password'), 'in')
  assert.equal(await accounts.setPassword(newId<UserId>(), 'a new password'), false)
})

test('a hasher that is full asks people to come back in a second', async (t) => {
  let isFull = true
  const waiting: ((tag: Buffer) => void)[] = []
  const sometimesFull = makePasswords(async () => {
    if (!isFull) return Buffer.alloc(32)
    return new Promise<Buffer>((resolve) => waiting.push(resolve))
  })
  const { accounts } = await open(t, { passwords: sometimesFull, signInLimit: 0 })
  const flood = Array.from({ length: 68 }, () => sometimesFull.check('flood', null))
  const later = { kind: 'slow_down', retryAfterSeconds: 1 }
  assert.deepEqual(await accounts.signIn({ email: 'a@b.example', password: 'x' }, here), later)
  assert.deepEqual(await accounts.signUp(good, here), later)
  isFull = false
  // Those that wait for a place come after these, and find it open.
  for (const resolve of waiting) resolve(Buffer.alloc(32))
  await Promise.all(flood)
  assert.equal((await accounts.signUp(good, here)).kind, 'made')
})

test('every step leaves its trace, and no trace holds a password or a guessed address', async (t) => {
  const { accounts, enter, readAudit } = await open(t)
  const made = await accounts.signUp(good, here)
  assert(made.kind === 'made')
  await enter(good.email, good.password)
  await enter(good.email, 'guessed-password')
  await enter('guessed@example.com', 'guessed-password')
  const rows = await readAudit()
  assert.deepEqual(
    rows.map(({ actor, action, user_id }) => [actor, action, user_id]),
    [
      [here, 'account.signed-up', made.user.id],
      [here, 'account.signed-in', made.user.id],
      [here, 'account.sign-in-refused', made.user.id],
      [here, 'account.sign-in-refused', null],
    ],
  )
  assert.ok(!/guessed|horse/.test(JSON.stringify(rows)))
})

test('an e-mail address is what mail could reach, and nothing that a store chokes on', () => {
  for (const text of [
    'a@b.example',
    "o'neil+bank@mail.example.com",
    'z\u00f6e@b\u00fccher.example',
  ]) {
    assert.equal(isEmail(text), true, text)
  }
  const bad = ['', 'a', 'a@b', '@b.example', 'a@', 'a b@c.example', 'a@@b.example', 'a@b..example']
  for (const text of [
    ...bad,
    'a\u0000@b.example',
    'a@b\u0001.example',
    `${'a'.repeat(250)}@b.example`,
  ]) {
    assert.equal(isEmail(text), false, text)
  }
})

const userRow = {
  timezone: null,
  plan: null,
  status: 'active',
  legacyUntil: null,
  grandfathered: false,
  createdAt: 0,
} as const

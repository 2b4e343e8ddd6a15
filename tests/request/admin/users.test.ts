/** Users and plans in the admin API, path by path and status by status. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePasswords } from '#auth/sign-in/password.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import type { By } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import { type Answer, makeWorld } from './world.ts'

const visitor: By = { actor: { kind: 'visitor', address: '127.0.0.1' } }
const errorOf = ({ body }: Answer) =>
  (body as { error: { message: string; code?: string; details?: string[] } }).error
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('201: a created user is answered with id, email, timezone and the plan that holds', async (t) => {
  const { ask } = await makeWorld(t)
  const { status, body } = await ask('POST', '/admin/users', {
    email: ' Emma@Example.com ',
    timezone: 'Pacific/Auckland',
    plan: 'developer',
    status: 'trialing',
  })
  assert.equal(status, 201)
  const { id, ...rest } = body as { id: string }
  assert.match(id, uuid)
  assert.deepEqual(rest, {
    email: 'Emma@Example.com',
    timezone: 'Pacific/Auckland',
    plan: 'developer',
  })
})

test('201: a user without plan and timezone has the default plan and no timezone', async (t) => {
  const { ask } = await makeWorld(t)
  const { body } = await ask('POST', '/admin/users', { email: 'a@b.example' })
  const { id: _id, ...rest } = body as { id: string }
  assert.deepEqual(rest, { email: 'a@b.example', timezone: null, plan: 'none' })
})

test('400: every wrong field of a new user is named at once, with what it must be', async (t) => {
  const { ask, store } = await makeWorld(t)
  const answer = await ask('POST', '/admin/users', {
    email: 'nobody',
    timezone: 'Sydney',
    plan: 'gold',
    status: 'happy',
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(errorOf(answer), {
    message: 'Invalid request parameters',
    code: 'invalid_params',
    details: [
      'email: must be an e-mail address',
      'timezone: must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland',
      'plan: must be one of developer, professional, none',
      'status: must be one of active, trialing, past_due, canceled',
    ],
  })
  assert.deepEqual(await store.users.list(), [])
})

test('400: an absent e-mail address, a wrong type, a status without plan, a bare offset as zone', async (t) => {
  const { ask } = await makeWorld(t)
  const cases: [unknown, string][] = [
    [undefined, 'email: is required'],
    [{}, 'email: is required'],
    [{ email: 7 }, 'email: must be text'],
    [{ email: null }, 'email: must be text'],
    [
      { email: 'a@b.example', status: 'trialing' },
      'status: needs a plan beside it, unless it is active',
    ],
    [
      { email: 'a@b.example', timezone: '+10:00' },
      'timezone: must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland',
    ],
  ]
  for (const [body, detail] of cases) {
    const answer = await ask('POST', '/admin/users', body)
    assert.equal(answer.status, 400)
    assert.deepEqual(errorOf(answer).details, [detail])
  }
})

test('201: the status active needs no plan, because it is the default', async (t) => {
  const { ask } = await makeWorld(t)
  const { status } = await ask('POST', '/admin/users', { email: 'a@b.example', status: 'active' })
  assert.equal(status, 201)
})

test('201: a user made with a password can sign in with it, and nothing keeps the password itself', async (t) => {
  const { ask, signIns, readDisk, logged } = await makeWorld(t)
  const password = 'correct horse battery'
  const made = await ask('POST', '/admin/users', { email: 'a@b.example', password })
  assert.equal(made.status, 201)
  assert.ok(!JSON.stringify(made.body).includes('argon2'))
  const entered = await signIns.signIn({ email: 'a@b.example', password }, '127.0.0.1')
  assert.equal(entered.kind, 'in')
  assert.ok(!(await readDisk()).includes(password))
  assert.ok(!logged.some((line) => line.includes('correct horse')))
})

test('400: a password of 9 characters is refused, not echoed, and creates no user', async (t) => {
  const { ask, store } = await makeWorld(t)
  for (const password of ['ninechars', 'x'.repeat(257)]) {
    const answer = await ask('POST', '/admin/users', { email: 'a@b.example', password })
    assert.equal(answer.status, 400)
    const detail = 'password: must have 10 to 256 characters; length is what counts'
    assert.deepEqual(errorOf(answer).details, [detail])
    assert.ok(!JSON.stringify(answer.body).includes(password))
  }
  assert.deepEqual(await store.users.list(), [])
})

test('204: a new password replaces the old one, ends every session of the user and leaves the others alone', async (t) => {
  const { ask, signIns, store, clock, readAudit } = await makeWorld(t)
  const sessions = makeSessions({ store, clock })
  const signIn = async (email: string, password: string) =>
    (await signIns.signIn({ email, password }, '127.0.0.1')).kind
  const enter = async (email: string) => {
    const password = 'the first password'
    await ask('POST', '/admin/users', { email, password })
    const entered = await signIns.signIn({ email, password }, '127.0.0.1')
    return (
      (entered.kind === 'in' ? await sessions.start(visitor, entered.proof, null) : null)?.token ??
      lost()
    )
  }
  const own = await enter('a@b.example')
  const other = await enter('c@d.example')
  const path = '/admin/users/a@b.example/password'
  const answer = await ask('PUT', path, { password: 'the second password' })
  assert.deepEqual([answer.status, answer.body], [204, null])
  assert.equal(await sessions.find(own), null)
  assert.notEqual(await sessions.find(other), null)
  assert.equal(await signIn('a@b.example', 'the first password'), 'refused')
  assert.equal(await signIn('a@b.example', 'the second password'), 'in')
  assert.equal(await signIn('c@d.example', 'the first password'), 'in')
  const mine = (await store.users.find('a@b.example'))?.id
  const entry = (await readAudit()).find(({ action }) => action === 'users.set-password')
  assert.deepEqual([entry?.user_id, entry?.subject], [mine, mine])
})

test('400 and 404: a password is set for an existing user, and must be acceptable', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  await addUser('a@b.example')
  const put = (user: string, body: unknown) => ask('PUT', `/admin/users/${user}/password`, body)
  assert.deepEqual(errorOf(await put('a@b.example', {})).details, ['password: is required'])
  assert.equal((await put('a@b.example', { password: 'short' })).status, 400)
  assert.equal((await put('a@b.example', { password: null })).status, 400)
  const nobody = await put('nobody@b.example', { password: 'long enough it is' })
  assert.equal(nobody.status, 404)
  assert.equal(errorOf(nobody).code, 'user_not_found')
})

test('204: a deleted user is signed in nowhere any more', async (t) => {
  const { ask, store, signIns, clock } = await makeWorld(t)
  const sessions = makeSessions({ store, clock })
  const given = { email: 'a@b.example', password: 'long enough' }
  await ask('POST', '/admin/users', given)
  const entered = await signIns.signIn(given, '127.0.0.1')
  const { token } =
    (entered.kind === 'in' ? await sessions.start(visitor, entered.proof, null) : null) ?? lost()
  assert.notEqual(await sessions.find(token), null)
  await ask('DELETE', '/admin/users/a@b.example')
  assert.equal(await sessions.find(token), null)
})

test('503: while too many passwords are being hashed, no user is created in part', async (t) => {
  const gate = Promise.withResolvers<Buffer>()
  const { ask, signIns, store } = await makeWorld(t, {
    passwords: makePasswords(() => gate.promise),
  })
  const flood = Array.from({ length: 68 }, () => signIns.hashPassword('flood of passwords'))
  const body = { email: 'a@b.example', password: 'long enough it is' }
  const answer = await ask('POST', '/admin/users', body)
  assert.equal(answer.status, 503)
  assert.equal(answer.headers['retry-after'], '1')
  assert.deepEqual(await store.users.list(), [])
  gate.resolve(Buffer.alloc(32))
  await Promise.all(flood)
  assert.equal((await ask('POST', '/admin/users', body)).status, 201)
})

function lost(): never {
  throw new Error('the user of the test was not made')
}

test('409: an e-mail address in any case has one user', async (t) => {
  const { ask } = await makeWorld(t)
  await ask('POST', '/admin/users', { email: 'a@b.example' })
  const answer = await ask('POST', '/admin/users', { email: 'A@B.example' })
  assert.equal(answer.status, 409)
  assert.equal(errorOf(answer).code, 'email_taken')
})

test('200: users are listed and shown by id and by e-mail address, percent-encoded or not', async (t) => {
  const { ask } = await makeWorld(t)
  const email = "o'neil+bank@example.com"
  const { body } = await ask('POST', '/admin/users', { email, plan: 'professional' })
  const { id } = body as { id: string }
  const expected = {
    id,
    email,
    name: null,
    timezone: null,
    plan: 'professional',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    createdAt: '2026-11-20T03:15:00.000Z',
    // The operator vouches for the address.
    emailConfirmedAt: '2026-11-20T03:15:00.000Z',
  }
  const standing = {
    lastSeenAt: null,
    hasSecondFactor: false,
    connections: { active: 0, broken: 0 },
  }
  const listed = { data: [{ ...expected, ...standing }], next: null }
  assert.deepEqual((await ask('GET', '/admin/users')).body, listed)
  const signIn = {
    ...{ hasPassword: false, hasSecondFactor: false, recoveryCodesLeft: 0 },
    ...{ secondFactors: [], passkeys: 0 },
  }
  for (const name of [id, id.toUpperCase(), email, encodeURIComponent(email.toUpperCase())]) {
    const shown = await ask('GET', `/admin/users/${name}`)
    assert.equal(shown.status, 200, name)
    assert.deepEqual(shown.body, { ...expected, ...standing, ...signIn })
  }
})

test('404: an unknown user is the same for every path that names one', async (t) => {
  const { ask } = await makeWorld(t)
  const nobody = ['nobody@example.com', '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10', '%00', '%20']
  for (const name of nobody) {
    const answers = [
      await ask('GET', `/admin/users/${name}`),
      await ask('DELETE', `/admin/users/${name}`),
      await ask('PUT', `/admin/users/${name}/plan`, { plan: 'none', status: 'active' }),
      await ask('GET', `/admin/users/${name}/keys`),
      await ask('POST', `/admin/users/${name}/keys`, {}),
      await ask('GET', `/admin/users/${name}/connections`),
      await ask('POST', `/admin/users/${name}/connections`, {}),
      await ask('GET', `/admin/users/${name}/agents`),
      await ask('DELETE', `/admin/users/${name}/agents/x`),
      await ask('GET', `/admin/users/${name}/sessions`),
    ]
    for (const answer of answers) {
      assert.equal(answer.status, 404)
      assert.equal(errorOf(answer).code, 'user_not_found')
    }
  }
})

test('an e-mail address of the greatest length, every character encoded, reaches its user', async (t) => {
  const { ask } = await makeWorld(t)
  const email = `${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(3)}example`.slice(0, 254)
  await ask('POST', '/admin/users', { email })
  const encoded = [...email].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')
  assert.equal((await ask('GET', `/admin/users/${encoded}`)).status, 200)
})

test('200: a plan is set as a whole, and what is left out is reset', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const first = await ask('PUT', `/admin/users/${id}/plan`, {
    plan: 'none',
    status: 'canceled',
    legacyUntil: '2026-12-01T10:00:00+10:00',
    grandfathered: true,
  })
  assert.equal(first.status, 200)
  assert.deepEqual(first.body, {
    plan: 'none',
    status: 'canceled',
    legacyUntil: '2026-12-01T00:00:00.000Z',
    grandfathered: true,
  })
  const second = await ask('PUT', '/admin/users/a@b.example/plan', {
    plan: 'professional',
    status: 'past_due',
  })
  assert.deepEqual(second.body, {
    plan: 'professional',
    status: 'past_due',
    legacyUntil: null,
    grandfathered: false,
  })
})

test('400: a plan needs plan and status, and its cut-off a real instant with an offset', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const put = (body: unknown) => ask('PUT', `/admin/users/${id}/plan`, body)
  assert.deepEqual(errorOf(await put({})).details, ['plan: is required', 'status: is required'])
  for (const legacyUntil of ['2026-12-01', '2026-12-01T10:00:00', '2026-02-30T10:00:00Z', 'soon']) {
    const answer = await put({ plan: 'none', status: 'active', legacyUntil })
    assert.equal(answer.status, 400, legacyUntil)
    assert.match(String(errorOf(answer).details), /legacyUntil: must be an ISO 8601 instant/)
  }
  const wrong = await put({ plan: 'none', status: 'active', grandfathered: 'yes' })
  assert.deepEqual(errorOf(wrong).details, ['grandfathered: must be true or false'])
})

test('R27: a new plan is what the next look-up of the key sees', async (t) => {
  const { ask, addUser, store } = await makeWorld(t)
  const { hashKey } = await import('#auth/keys.ts')
  const id = await addUser('a@b.example')
  const created = await ask('POST', `/admin/users/${id}/keys`, {})
  const hash = hashKey((created.body as { key: string }).key)
  assert.equal((await store.keys.findCaller(hash))?.plan, null)
  await ask('PUT', `/admin/users/${id}/plan`, { plan: 'developer', status: 'active' })
  assert.equal((await store.keys.findCaller(hash))?.plan, 'developer')
})

test('204: a deleted user’s keys and rows are deleted, and the address can be used again', async (t) => {
  const { ask, addUser, store } = await makeWorld(t)
  const { hashKey } = await import('#auth/keys.ts')
  const id = await addUser('a@b.example')
  const created = await ask('POST', `/admin/users/${id}/keys`, {})
  const answer = await ask('DELETE', '/admin/users/a@b.example')
  assert.equal(answer.status, 204)
  assert.equal(answer.body, null)
  assert.equal((await ask('GET', `/admin/users/${id}`)).status, 404)
  assert.equal((await ask('DELETE', `/admin/users/${id}`)).status, 404)
  assert.equal(await store.keys.findCaller(hashKey((created.body as { key: string }).key)), null)
  assert.notEqual(await addUser('a@b.example'), id)
})

test('200: a profile is set by what is given, with an audit row for each change; other fields are refused', async (t) => {
  const { ask } = await makeWorld(t)
  const { body } = await ask('POST', '/admin/users', { email: 'a@b.example' })
  const { id } = body as { id: string }
  const put = (fields: object) => ask('PUT', '/admin/users/a@b.example/profile', fields)
  const named = await put({ name: 'Emma' })
  assert.equal(named.status, 200)
  const zoned = await put({ timezone: 'Pacific/Auckland' })
  const { name, timezone } = zoned.body as { name: string; timezone: string }
  assert.deepEqual([name, timezone], ['Emma', 'Pacific/Auckland'])
  assert.equal((await put({ timezone: 'Pacific/Auckland' })).status, 200)
  for (const wrong of [
    { timezone: 'Mars' },
    { timezone: null },
    { name: 'a\u0007' },
    { plan: 'none' },
  ]) {
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong))
  }
  const audit = await ask('GET', `/admin/audit?user=${id}`)
  const rows = (audit.body as { data: { action: string; actor: string }[] }).data
  const own = rows.filter(({ action }) => action.startsWith('account.'))
  assert.deepEqual(own.map(({ action, actor }) => `${actor} ${action}`).sort(), [
    'admin account.set-name',
    'admin account.set-timezone',
  ])
})

test('204: a second factor is removed, also where there is none; 404 for nobody', async (t) => {
  const { ask, store } = await makeWorld(t)
  const { body } = await ask('POST', '/admin/users', { email: 'a@b.example' })
  const { id: userId } = body as { id: UserId }
  const secret = new Uint8Array(20)
  await store.secondFactors.create({ userId, secret, at: 0, step: 1, codeHashes: [] })
  const remove = (user: string) => ask('DELETE', `/admin/users/${user}/second-factor`)
  assert.equal((await remove('a@b.example')).status, 204)
  assert.equal(await store.secondFactors.has(userId), false)
  assert.equal((await remove(userId)).status, 204)
  assert.equal((await remove('nobody@b.example')).status, 404)
  const audit = await ask('GET', `/admin/audit?user=${userId}`)
  const rows = (audit.body as { data: { action: string }[] }).data
  assert.equal(rows.filter(({ action }) => action === 'users.reset-second-factor').length, 1)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { addUser } from '#tests/contract/store/rows.ts'
import { formTokenOf, isFormToken, isToken, makeSessions, newToken } from './sessions.ts'

const minute = 60_000
const day = 24 * 60 * minute

async function open(t: TestContext) {
  const place = makeSqlitePlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  let now = Date.UTC(2026, 10, 21)
  const sessions = makeSessions({ store, clock: { now: () => now } })
  const user = await addUser(store)
  const pass = (ms: number) => {
    now += ms
  }
  return { place, store, sessions, user, pass }
}

test('a session is found by its cookie, which is 32 random bytes and nowhere on the disk', async (t) => {
  const { place, sessions, user } = await open(t)
  const { token, session } = await sessions.start(user.id)
  assert.equal(Buffer.from(token, 'base64url').length, 32)
  assert.equal((await sessions.find(token))?.id, session.id)
  assert.notEqual((await sessions.start(user.id)).token, token)
  assert.ok(!(await place.readAll()).includes(token))
  assert.ok(!(await place.readAll()).includes(Buffer.from(token, 'base64url')))
})

test('what no session has is nobody: absent, of another shape, unknown', async (t) => {
  const { sessions } = await open(t)
  for (const token of [null, '', 'x', newToken(), `${newToken()}=`, '\u0000'.repeat(43)]) {
    assert.equal(await sessions.find(token), null)
  }
})

test('14 days without a visit end a session, a visit in between prolongs it', async (t) => {
  const { sessions, user, pass } = await open(t)
  const { token } = await sessions.start(user.id)
  pass(14 * day - 1)
  assert.notEqual(await sessions.find(token), null)
  pass(14 * day - 1)
  assert.notEqual(await sessions.find(token), null)
  const idle = await sessions.start(user.id)
  pass(14 * day)
  assert.equal(await sessions.find(idle.token), null)
})

test('30 days end a session however often it is visited', async (t) => {
  const { sessions, user, pass } = await open(t)
  const { token } = await sessions.start(user.id)
  for (let visits = 0; visits < 29; visits += 1) {
    pass(day)
    assert.notEqual(await sessions.find(token), null)
  }
  pass(day - 1)
  assert.notEqual(await sessions.find(token), null)
  pass(1)
  assert.equal(await sessions.find(token), null)
})

test('a password counts as fresh for ten minutes, and visits do not make it fresher', async (t) => {
  const { sessions, user, pass } = await open(t)
  const { token, session } = await sessions.start(user.id)
  assert.equal(session.isFresh, true)
  pass(10 * minute - 1)
  assert.equal((await sessions.find(token))?.isFresh, true)
  pass(1)
  assert.equal((await sessions.find(token))?.isFresh, false)
  assert.equal((await sessions.find(token))?.signedInAt, session.signedInAt)
})

test('a clock that was set back makes nobody fresh', async (t) => {
  const { sessions, user, pass } = await open(t)
  const { token } = await sessions.start(user.id)
  pass(-day)
  assert.equal((await sessions.find(token))?.isFresh, false)
})

test('a session that is ended is found no more, those in other browsers are', async (t) => {
  const { sessions, user } = await open(t)
  const [here, there] = [await sessions.start(user.id), await sessions.start(user.id)]
  await sessions.end(here.session)
  assert.equal(await sessions.find(here.token), null)
  assert.equal((await sessions.find(there.token))?.id, there.session.id)
})

test('the sweep deletes exactly those that have ended', async (t) => {
  const { sessions, user, pass } = await open(t)
  await sessions.start(user.id)
  pass(14 * day)
  const good = await sessions.start(user.id)
  pass(minute)
  assert.equal(await sessions.sweep(), 1)
  assert.equal(await sessions.sweep(), 0)
  assert.notEqual(await sessions.find(good.token), null)
})

test('a form token belongs to one cookie and does not tell it', () => {
  const [cookie, other] = [newToken(), newToken()]
  const token = formTokenOf(cookie)
  assert.equal(isFormToken(token, cookie), true)
  assert.equal(isFormToken(token, other), false)
  assert.equal(isFormToken(cookie, cookie), false)
  assert.equal(isFormToken('', cookie), false)
  assert.equal(isFormToken(`${token}x`, cookie), false)
  assert.equal(isToken(cookie), true)
  assert.notEqual(token, cookie)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { By } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import { Secret } from '#kernel/secret.ts'
import { maxSessions } from '#store/ports/sessions.ts'
import type { Store } from '#store/ports/store.ts'
import { makeMigratedPlace, openSqliteStore } from '#tests/contract/store/place.ts'
import { addUser } from '#tests/contract/store/rows.ts'
import {
  formTokenOf,
  isFormToken,
  isToken,
  makeSessions,
  newToken,
  type Session,
} from './sessions.ts'

const passwordHash = '$argon2id$checked'
const here: By = { actor: { kind: 'visitor', address: '203.0.113.7' } }
const proofOf = (userId: UserId) => ({ userId, checked: new Secret(passwordHash), code: null })
/** The actor who is signed in with this session. */
const own = ({ userId, id }: Session): By => ({ actor: { kind: 'person', userId, sessionId: id } })
const minute = 60_000
const day = 24 * 60 * minute

async function open(t: TestContext) {
  const place = makeMigratedPlace()
  const store = await openSqliteStore(t, place)
  let now = Date.UTC(2026, 10, 21)
  const made = makeSessions({ store, clock: { now: () => now } })
  /** The state after a sign-in whose password is still current. */
  const sessions = {
    ...made,
    async start(userId: UserId, replaced: Session | null = null) {
      const started = await made.start(here, proofOf(userId), replaced)
      assert(started !== null)
      return started
    },
  }
  const user = await addUser(store, { passwordHash })
  const pass = (ms: number) => {
    now += ms
  }
  return { place, store, made, sessions, user, pass }
}

/** Who did what, newest first. */
async function trail(store: Store, userId: UserId): Promise<string[]> {
  const rows = await store.auditLog.list({ userId, after: null, limit: 10 })
  return rows.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`)
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

test('an absent, malformed or unknown token has no session', async (t) => {
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

test('a clock that was set back makes no session fresh', async (t) => {
  const { sessions, user, pass } = await open(t)
  const { token } = await sessions.start(user.id)
  pass(-day)
  assert.equal((await sessions.find(token))?.isFresh, false)
})

test('an ended session is not found, those in other browsers are', async (t) => {
  const { sessions, user } = await open(t)
  const [desk, phone] = [await sessions.start(user.id), await sessions.start(user.id)]
  await sessions.end(own(desk.session), desk.session)
  assert.equal(await sessions.find(desk.token), null)
  assert.equal((await sessions.find(phone.token))?.id, phone.session.id)
})

test('each session that begins and each that its person ends is one audit row', async (t) => {
  const { store, sessions, user } = await open(t)
  const { session } = await sessions.start(user.id)
  for (let count = 0; count < 2; count += 1) await sessions.end(own(session), session)
  assert.deepEqual((await trail(store, user.id)).sort(), [
    '203.0.113.7 account.signed-in account',
    'user account.signed-out account',
  ])
})

test('a sign-in ends the previous session of its browser; the audit records it when another user had it', async (t) => {
  const { store, sessions, user } = await open(t)
  const other = await addUser(store, { passwordHash })
  const first = await sessions.start(user.id)
  const again = await sessions.start(user.id, first.session)
  const theirs = await sessions.start(other.id, again.session)
  assert.equal(await sessions.find(first.token), null)
  assert.equal(await sessions.find(again.token), null)
  assert.notEqual(await sessions.find(theirs.token), null)
  const [from, entered] = ['203.0.113.7', '203.0.113.7 account.signed-in account']
  const mine = await trail(store, user.id)
  assert.deepEqual(mine.sort(), [entered, entered, `${from} account.signed-out account`])
  assert.deepEqual(await trail(store, other.id), [entered])
})

test('of as many sessions as a user may have, giving the password again ends that of its own browser alone', async (t) => {
  const { sessions, user, pass } = await open(t)
  const first = await sessions.start(user.id)
  pass(1)
  const last = await sessions.start(user.id)
  for (let count = 2; count < maxSessions; count += 1) await sessions.start(user.id)
  await sessions.start(user.id, last.session)
  assert.notEqual(await sessions.find(first.token), null)
})

test('a password that has been changed meanwhile starts no session and writes no audit row', async (t) => {
  const { store, made, user } = await open(t)
  await store.sessions.setPassword(user.id, '$argon2id$new')
  assert.equal(await made.start(here, proofOf(user.id), null), null)
  assert.deepEqual(await trail(store, user.id), [])
})

test('no session begins or ends where its audit row cannot be written', async (t) => {
  const { store, sessions, user } = await open(t)
  const kept = await sessions.start(user.id)
  const audit = async () => assert.fail('the audit is full')
  const broken = makeSessions({
    store: { ...store, transact: (work) => store.transact((tx) => work({ ...tx, audit })) },
    clock: { now: () => kept.session.signedInAt },
  })
  await assert.rejects(broken.start(here, proofOf(user.id), kept.session), /audit is full/)
  await assert.rejects(broken.end(own(kept.session), kept.session), /audit is full/)
  assert.equal((await sessions.find(kept.token))?.id, kept.session.id)
  assert.equal(
    await store.sessions.sweep({ seenBefore: 0, createdBefore: Date.UTC(2027, 0, 1) }),
    1,
  )
})

test('a user cannot end the session of another user', async (t) => {
  const { store, sessions, user } = await open(t)
  const other = await addUser(store, { passwordHash })
  const [mine, theirs] = [await sessions.start(user.id), await sessions.start(other.id)]
  await sessions.end(own(theirs.session), mine.session)
  await sessions.end(here, mine.session)
  assert.notEqual(await sessions.find(mine.token), null)
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

test('a form token is valid for one cookie and does not reveal it', () => {
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

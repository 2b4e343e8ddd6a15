/**
 * Every action on users and keys writes its audit row or changes nothing, and refuses what belongs to another
 * user.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type By, byOperator } from '#contract/actor.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addKey, addUser, now } from '#tests/contract/store/rows.ts'
import { makeUserActions } from './actions.ts'
import { makeSetPassword } from './sign-in/set-password.ts'

const clock = { now: () => now }
const passwords = { hash: async () => '$argon2id$new', check: async () => false }

function makeActions(store: Store) {
  const setPassword = makeSetPassword({ store, clock, passwords, forgive: async () => {} })
  const signIns = { hashPassword: passwords.hash, setPassword }
  return makeUserActions({
    store,
    clock,
    signIns,
    invite: async () => assert.fail('of another test'),
  })
}

/** A store whose audit writes fail. */
function withoutAudit(store: Store): Store {
  const audit = async () => assert.fail('the audit is full')
  return { ...store, transact: (work) => store.transact((tx) => work({ ...tx, audit })) }
}

const password = { password: 'a new password' }
const plan = { plan: 'professional', status: 'active' }

/** The actions on existing users that a person may make too, in the order in which the audit lists them. */
async function doAll(store: Store, actions: ReturnType<typeof makeActions>, by: By, id: UserId) {
  const key = await addKey(store, id)
  const works = [
    () => actions.setPassword(by, id, password),
    () => actions.createKey(by, id, {}),
    () => actions.revokeKey(by, key.id),
  ]
  const outcomes: string[] = []
  for (const work of works) {
    outcomes.push(
      await work().then(
        () => 'done',
        (error: Error) => Reflect.get(error, 'entry'),
      ),
    )
  }
  return outcomes
}

async function look(store: Store, id: UserId) {
  const keys = await store.keys.list(id)
  const user = await store.users.find(id)
  return { keys: keys.map(({ revokedAt }) => revokedAt), plan: user?.plan }
}

test('each action on users and keys leaves one audit row that names who did it', async (t) => {
  const store = await openSqliteStore(t)
  const actions = makeActions(store)
  const { id } = await actions.createUser(byOperator, { email: 'a@b.example' })
  const mine: By = { actor: { kind: 'person', userId: id, sessionId: newId<SessionId>() } }
  assert.deepEqual(await doAll(store, actions, mine, id), Array(3).fill('done'))
  await actions.setPlan(byOperator, id, plan)
  const rows = await store.auditLog.list({ userId: id, after: null, limit: 10 })
  assert.deepEqual(rows.map(({ actor, action }) => `${actor} ${action}`).sort(), [
    'admin plans.set',
    'admin users.create',
    'user keys.create',
    'user keys.revoke',
    'user users.set-password',
  ])
})

test('no change of a user or key is kept where its audit row cannot be written', async (t) => {
  const store = await openSqliteStore(t)
  const { id } = await addUser(store)
  const broken = makeActions(withoutAudit(store))
  await assert.rejects(broken.createUser(byOperator, { email: 'a@b.example' }), /audit is full/)
  assert.equal(await store.users.find('a@b.example'), null)
  assert.deepEqual(await doAll(store, broken, byOperator, id), Array(3).fill(undefined))
  await assert.rejects(broken.setPlan(byOperator, id, plan), /audit is full/)
  assert.deepEqual(await look(store, id), { keys: [null], plan: 'developer' })
  assert.equal(await store.sessions.findPassword(id), null)
})

test('a person cannot change another user’s data: the answer is that it does not exist', async (t) => {
  const store = await openSqliteStore(t)
  const { id } = await addUser(store)
  const stranger: By = {
    actor: { kind: 'person', userId: newId<UserId>(), sessionId: newId<SessionId>() },
  }
  assert.deepEqual(await doAll(store, makeActions(store), stranger, id), [
    'user_not_found',
    'user_not_found',
    'key_not_found',
  ])
  assert.deepEqual(await look(store, id), { keys: [null], plan: 'developer' })
  assert.deepEqual(await store.auditLog.list({ userId: id, after: null, limit: 10 }), [])
})

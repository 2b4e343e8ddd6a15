/** `POST /admin/users/U/reminder`: a person is asked by mail to reconnect what is broken. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRemind } from '#auth/remind.ts'
import { byOperator } from '#contract/actor.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { addLink, newConnection, now } from '#tests/contract/store/rows.ts'
import { makeWorld } from './world.ts'

const dayMs = 86_400_000

test('each broken connection is mailed about once a day, and those that work or wait for a code are not', async (t) => {
  const place = makeMigratedPlace()
  const clock = { ms: now + 1, now: () => clock.ms }
  const store = await place.open({ reconnectDueAt, clock })
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  const { user, login } = await addLink(store)
  for (const status of ['invalidated', 'revoked', 'pending_mfa'] as const) {
    await store.connections.save(newConnection(user.id, login.id, { status }))
  }
  const remind = makeRemind({ store, clock })
  const waiting = async () => (await store.mails.readBacklog(0)).waiting
  const before = await waiting()
  assert.deepEqual(await remind(byOperator, user.id), { broken: 2, mailed: 2 })
  assert.equal(await waiting(), before + 2)
  assert.deepEqual(await remind(byOperator, user.id), { broken: 2, mailed: 0 })
  clock.ms += dayMs
  assert.deepEqual(await remind(byOperator, user.id), { broken: 2, mailed: 2 })
  const rows = await store.auditLog.list({ userId: user.id, after: null, limit: 9 })
  assert.equal(rows.filter(({ action }) => action === 'users.remind').length, 2)
})

test('200 without a mail server: nothing is mailed, and the answer says so; 404 for nobody', async (t) => {
  const { ask } = await makeWorld(t)
  const { body } = await ask('POST', '/admin/users', { email: 'a@b.example' })
  const { id } = body as { id: string }
  const answer = await ask('POST', `/admin/users/${id}/reminder`)
  assert.deepEqual([answer.status, answer.body], [200, { broken: 0, mailed: 0 }])
  const path = `/admin/users/${newId<UserId>()}/reminder`
  assert.equal((await ask('POST', path)).status, 404)
})

test('the list of users tells who was there last and what is broken', async (t) => {
  const { ask, store } = await makeWorld(t)
  const { user, login } = await addLink(store)
  await store.connections.save(newConnection(user.id, login.id, { status: 'revoked' }))
  const { data } = (await ask('GET', '/admin/users')).body as { data: Record<string, unknown>[] }
  const row = data.find(({ id }) => id === user.id)
  assert.deepEqual([row?.lastSeenAt, row?.connections], [null, { active: 1, broken: 1 }])
})

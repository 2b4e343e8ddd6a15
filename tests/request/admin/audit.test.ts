/** Every change an operator makes is written down, by name and ids alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { akahu, link } from './credentials.ts'
import { makeWorld } from './world.ts'

test('each changing call leaves an audit entry with its action, its subject and no secret', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('emma.audit@b.example')
  await world.ask('PUT', `/admin/users/${id}/plan`, { plan: 'developer', status: 'active' })
  const created = await world.ask('POST', `/admin/users/${id}/keys`, { name: 'laptop' })
  const { id: keyId, key } = created.body as { id: string; key: string }
  await world.ask('DELETE', `/admin/keys/${keyId}`)
  const [connection] = await link(world, id, akahu)
  assert.ok(connection !== undefined)
  await world.ask('POST', `/admin/connections/${connection.id}/refresh`)
  await world.ask('DELETE', `/admin/connections/${connection.id}`)
  await world.ask('DELETE', `/admin/users/${id}`)

  const entries = await world.readAudit()
  assert.deepEqual(
    entries.map((entry) => [entry.actor, entry.action, entry.user_id]),
    [
      'users.create',
      'plans.set',
      'keys.create',
      'keys.revoke',
      'connections.link',
      'connections.refresh',
      'connections.remove',
      'users.delete',
    ].map((action) => ['admin', action, id]),
  )
  const subjects = entries.map((entry) => entry.subject)
  assert.equal(subjects[1], 'developer active')
  assert.equal(subjects[2], keyId)
  assert.ok(subjects[4]?.startsWith('akahu ') && subjects[4].includes(connection.id))
  assert.equal(subjects[6], connection.id)
  const all = JSON.stringify(entries)
  for (const secret of [key, akahu.userToken, 'emma.audit']) assert.ok(!all.includes(secret))
})

test('a refused call leaves no entry', async (t) => {
  const world = await makeWorld(t)
  await world.ask('POST', '/admin/users', { email: 'nobody' })
  await world.ask('DELETE', '/admin/users/nobody@b.example')
  assert.deepEqual(await world.readAudit(), [])
})

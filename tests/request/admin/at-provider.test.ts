/**
 * Removing connections behind people's own keys: forgotten here, and ended at the provider only when that is
 * asked for.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ConnectionId, UpstreamId, UserId } from '#kernel/ids.ts'
import { demoUserTokens, toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import { akahu, errorOf, link, need, up } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const history = { provider: 'akahu', ...toPersonalTokens('history') }
const healthy = { provider: 'akahu', ...toPersonalTokens('healthy') }
const down = { does: { kind: 'reply', reply: { status: 500 } } } as const

/** A user whose only connection is by an app of their own, in an installation with a full app. */
async function open(t: TestContext) {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const emulator = need(world, 'akahu')
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, history)
  assert.ok(connection !== undefined)
  emulator.requests.length = 0
  return { world, emulator, id: id as UserId, connection, person: emulator.people.history }
}

const remove = (world: World, id: string, query = '') =>
  world.ask('DELETE', `/admin/connections/${id}${query}`)
const removals = async (world: World) =>
  (await world.readAudit()).filter(({ action }) => action === 'connections.remove')

test('204: without being asked, the tokens are forgotten here and nothing is sent', async (t) => {
  for (const query of ['', '?atProvider=false']) {
    const { world, emulator, id, connection, person } = await open(t)
    assert.equal((await remove(world, connection.id, query)).status, 204)
    assert.deepEqual(emulator.requests, [])
    assert.equal(person.personal.userToken, history.userToken)
    assert.deepEqual(await world.store.logins.list(id), [])
    assert.equal((await remove(world, connection.id, query)).status, 404)
    assert.deepEqual(
      (await removals(world)).map(({ subject }) => subject),
      [connection.id],
    )
  }
})

test('204: when asked, the token ends at Akahu too, and the audit says so', async (t) => {
  const { world, emulator, id, connection, person } = await open(t)
  assert.equal((await remove(world, connection.id, '?atProvider=true')).status, 204)
  assert.deepEqual(
    emulator.requests.map(({ method, path }) => `${method} ${path}`),
    ['DELETE /v1/token'],
  )
  assert.equal(person.personal.userToken, null)
  assert.equal(person.userToken, demoUserTokens.history)
  assert.deepEqual(await world.store.logins.list(id), [])
  const [row, ...others] = await removals(world)
  assert.deepEqual([row?.subject, others], [`${connection.id} at-provider`, []])
})

test('one of several connections of a key ends alone, and only the one that was asked for', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'], akahuApp: 'none' })
  const emulator = need(world, 'akahu')
  const id = await world.addUser('a@b.example')
  const [first, second] = await link(world, id, healthy)
  assert.ok(first !== undefined && second !== undefined)
  emulator.requests.length = 0
  await remove(world, first.id, '?atProvider=true')
  await remove(world, second.id)
  const [request, ...others] = emulator.requests
  assert.match(`${request?.method} ${request?.path}`, /^DELETE \/v1\/authorisations\/\w+$/)
  assert.deepEqual(others, [])
  assert.equal((await world.store.logins.list(id as UserId)).length, 1)
})

test('with the provider away the removal waits, and the sweep does what was asked for', async (t) => {
  const { world, emulator, connection, person } = await open(t)
  emulator.addFault(down)
  assert.equal((await remove(world, connection.id, '?atProvider=true')).status, 204)
  const row = await world.store.connections.find(connection.id)
  assert.deepEqual([row?.status, row?.endsAtProvider], ['deleting', true])
  assert.deepEqual(await world.connections.finishDeletions(), { done: 0, pending: 1 })
  emulator.clearFaults()
  assert.deepEqual(await world.connections.finishDeletions(), { done: 1, pending: 0 })
  assert.equal(person.personal.userToken, null)
  assert.equal(await world.store.connections.find(connection.id), null)
})

test('a removal that waits for a key that is no longer set does not keep the others of its provider waiting', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'], snaptradeKey: 'none' })
  const emulator = need(world, 'snaptrade')
  const former = (await world.addUser('a@b.example')) as UserId
  const waiting: string[] = []
  // Users of a commercial key that was taken out of the variables.
  for (const upstreamUserId of ['first', 'second']) {
    const owner = { userId: former, provider: 'snaptrade', upstreamUserId } as const
    const login = await world.store.logins.save({ ...owner, secret: 'of-a-user' })
    const row = await world.store.connections.save({
      ...{ userId: former, loginId: login.id, provider: 'snaptrade', status: 'active' },
      ...{ upstreamId: upstreamUserId as UpstreamId, institutionId: 'B', institutionName: 'B' },
      ...{ institutionLogo: null, lastRefreshedAt: null, consentExpiresAt: null },
      createdAt: world.clock.now(),
    })
    await remove(world, row.id)
    waiting.push(row.id)
  }
  const id = await world.addUser('c@d.example')
  const connections = await link(world, id, { provider: 'snaptrade', ...demoPersonalKey })
  emulator.addFault(down)
  for (const connection of connections) await remove(world, connection.id, '?atProvider=true')
  emulator.clearFaults()
  for (let sweep = 0; sweep < 4; sweep += 1) await world.connections.finishDeletions()
  assert.equal(emulator.people.personal.connections.length, 0)
  for (const one of waiting) {
    assert.equal((await world.store.connections.find(one as ConnectionId))?.status, 'deleting')
  }
})

test('a waiting removal that is repeated without the question still does what was asked for', async (t) => {
  const { world, emulator, connection, person } = await open(t)
  emulator.addFault(down)
  await remove(world, connection.id, '?atProvider=true')
  emulator.clearFaults()
  assert.equal((await remove(world, connection.id)).status, 204)
  assert.equal(person.personal.userToken, null)
  assert.equal((await removals(world)).length, 1)
})

test('deleting the user only forgets their own keys, and ends what was asked for before', async (t) => {
  const { world, emulator, id, person } = await open(t)
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.deepEqual(emulator.requests, [])
  assert.equal(person.personal.userToken, history.userToken)

  const waiting = await open(t)
  waiting.emulator.addFault(down)
  await remove(waiting.world, waiting.connection.id, '?atProvider=true')
  waiting.emulator.clearFaults()
  await waiting.world.ask('DELETE', `/admin/users/${waiting.id}`)
  assert.equal(waiting.person.personal.userToken, null)
})

test('a consent of this installation’s app ends at the provider in any case', async (t) => {
  for (const query of ['', '?atProvider=true', '?atProvider=false']) {
    const world = await makeWorld(t, { providers: ['akahu'] })
    const id = await world.addUser('a@b.example')
    const [connection] = await link(world, id, { ...akahu, userToken: demoUserTokens.history })
    assert.equal((await remove(world, connection?.id ?? '', query)).status, 204)
    assert.equal(need(world, 'akahu').people.history.userToken, null)
  }
})

test('400: a misspelt, repeated or invalid parameter removes nothing', async (t) => {
  const { world, connection } = await open(t)
  const wrong = ['?atprovider=true', '?atProvider=yes', '?atProvider', '?at-provider=true']
  for (const query of [...wrong, '?atProvider=true&atProvider=true', '?atProvider=']) {
    const answer = await remove(world, connection.id, query)
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_params'], query)
    assert.match((errorOf(answer).details ?? []).join(), /atProvider|is an unknown field|unknown/i)
  }
  assert.equal((await world.store.connections.find(connection.id))?.status, 'active')
})

test('400: Up has no call that ends a token, which is said before anything is removed', async (t) => {
  const world = await makeWorld(t, { providers: ['up'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, up)
  const answer = await remove(world, connection?.id ?? '', '?atProvider=true')
  assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_params'])
  assert.match((errorOf(answer).details ?? []).join(), /up has no call that ends a token/)
  assert.equal((await world.store.connections.list(id as UserId)).length, 1)
  assert.equal((await remove(world, connection?.id ?? '')).status, 204)
})

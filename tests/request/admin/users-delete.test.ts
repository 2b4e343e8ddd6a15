/**
 * Deleting a person while others are at work on them: another connections room on the same store stands for a
 * process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Connections, makeConnections } from '#connections/connections.ts'
import { byOperator } from '#contract/actor.ts'
import { type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import type { Credentials } from '#providers/credentials.ts'
import type { Store } from '#store/ports/store.ts'
import { acceptChunks, addEndpoint } from '#tests/contract/store/event-rows.ts'
import { until } from '#tests/support/until.ts'
import * as people from './credentials.ts'
import { errorOf, link, need, only } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const fiskil: Credentials = { provider: 'fiskil', endUserId: people.fiskil.endUserId }
const akahu: Credentials = { provider: 'akahu', userToken: people.akahu.userToken }
const { snaptradeUserId, userSecret } = people.snaptrade
const snaptrade: Credentials = { provider: 'snaptrade', snaptradeUserId, userSecret }

/** The connections room of another process on the world's store, or on what stands before it. */
function another(world: World, store: Store = world.store): Connections {
  const { adapters, clock, windows, deletions } = world
  const report = {
    deletion: (event: (typeof deletions)[number]) => void deletions.push(event),
    linking: () => undefined,
    failedLate: () => assert.fail('nothing is late here'),
    notListening: () => assert.fail('nothing is linked here'),
  }
  return makeConnections({ store, adapters, clock, windows, timeoutMs: 5000, report })
}

/**
 * The store of a process whose first transaction waits for what happens elsewhere `before` it, or continues
 * with `after`.
 */
function heldUp(
  { store }: World,
  { before = nothing, after = nothing }: Partial<Record<'before' | 'after', () => Promise<void>>>,
): Store {
  return {
    ...store,
    async transact(work) {
      await before()
      const result = await store.transact(work)
      await after()
      return result
    },
  }
}

const nothing = async () => {}

const isNotFound = { name: 'ApiError', entry: 'user_not_found' }

const moments = { before: 'before it is saved', after: 'once it is saved' } as const

for (const credentials of [fiskil, akahu, snaptrade])
  for (const moment of ['before', 'after'] as const) {
    test(`a ${credentials.provider} link during which the user is deleted ${moments[moment]} leaves no consent and no row`, async (t) => {
      const world = await makeWorld(t, { providers: ['fiskil', 'akahu', 'snaptrade'] })
      const living = () =>
        need(world, 'fiskil').people.healthy.consents.filter(({ active }) => active).length *
        need(world, 'snaptrade').people.healthy.connections.length *
        (need(world, 'akahu').people.healthy.userToken === null ? 0 : 1)
      const id = (await world.addUser('a@b.example')) as UserId
      let deleting: Promise<boolean> | null = null
      const store = heldUp(world, {
        async [moment]() {
          // The mark is set; the deletion itself runs concurrently with the link.
          deleting = world.connections.deleteUser(byOperator, id)
          await until('the mark is set', async () => (await world.store.users.find(id)) === null, 1)
        },
      })
      assert.ok(living() > 0)
      await assert.rejects(
        another(world, store).linkConnections(byOperator, id, credentials),
        isNotFound,
      )
      assert.equal(await deleting, true)
      assert.equal(living(), 0)
      assert.deepEqual(await world.store.logins.listIds(id), [])
      assert.equal(await world.store.users.find(id, { deleting: true }), null)
      assert.ok(world.deletions.every(({ outcome }) => outcome === 'done'))
    })
  }

test('what a link adopted and cannot end again is reported', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = (await world.addUser('a@b.example')) as UserId
  const store = heldUp(world, {
    async before() {
      await world.store.users.disarm(id, world.clock.now())
      need(world, 'fiskil').addFault({ does: { kind: 'reply', reply: { status: 500, body: {} } } })
    },
  })
  await assert.rejects(another(world, store).linkConnections(byOperator, id, fiskil), isNotFound)
  const told = world.deletions.map(({ outcome, connectionId }) => [outcome, connectionId])
  assert.deepEqual(told, [
    ['abandoned', null],
    ['abandoned', null],
  ])
})

test('404: a person who is being deleted is not found by any request', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, people.fiskil)
  const emulator = need(world, 'fiskil')
  const before = emulator.requests.length
  emulator.latencyMs = 600
  const deleting = world.ask('DELETE', `/admin/users/${id}`)
  await until('the provider is asked', () => emulator.requests.length > before, 2)
  const user = `/admin/users/${id}`
  const asked = await Promise.all([
    world.ask('GET', user),
    world.ask('GET', '/admin/users/a@b.example'),
    world.ask('POST', `${user}/keys`),
    world.ask('PUT', `${user}/plan`, { plan: 'developer', status: 'active' }),
    world.ask('PUT', `${user}/password`, { password: 'long enough for anybody' }),
    world.ask('POST', `${user}/connections`, people.fiskil),
    world.ask('GET', `${user}/connections`),
    world.ask('POST', `/admin/connections/${connection?.id}/refresh`),
  ])
  assert.deepEqual(
    asked.map(({ status }) => status),
    Array(8).fill(404),
  )
  const users = (await world.ask('GET', '/admin/users')).body as { data: unknown[] }
  assert.deepEqual(users.data, [])
  emulator.latencyMs = 0
  assert.equal((await deleting).status, 204)
  assert.equal((await world.ask('DELETE', user)).status, 404)
  assert.ok(emulator.people.healthy.consents.every(({ active }) => !active))
})

test('204: deleting a user who is being deleted repeats the deletion; the sweep finishes a stuck one', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const [stuck, asked, fresh] = [
    (await world.addUser('stuck@b.example')) as UserId,
    (await world.addUser('asked@b.example')) as UserId,
    (await world.addUser('fresh@b.example')) as UserId,
  ]
  await link(world, stuck, people.fiskil)
  for (const id of [stuck, asked]) await world.store.users.disarm(id, world.clock.now())
  world.clock.advance(4 * 60_000)
  await world.store.users.disarm(fresh, world.clock.now())
  assert.equal((await world.ask('DELETE', '/admin/users/asked@b.example')).status, 204)
  await world.connections.finishDeletions()
  // Whoever began it may still be at it.
  assert.notEqual(await world.store.users.find(stuck, { deleting: true }), null)
  world.clock.advance(2 * 60_000)
  await world.connections.finishDeletions()
  assert.equal(await world.store.users.find(stuck, { deleting: true }), null)
  assert.equal(await world.store.users.find(asked, { deleting: true }), null)
  assert.notEqual(await world.store.users.find(fresh, { deleting: true }), null)
  assert.ok(need(world, 'fiskil').people.healthy.consents.every(({ active }) => !active))
  const answer = await world.ask('POST', `/admin/users/${fresh}/keys`)
  assert.equal(errorOf(answer).code, 'user_not_found')
})

test('a link whose login another process deletes before it is saved creates it again', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = (await world.addUser('a@b.example')) as UserId
  const first = await link(world, id, people.fiskil)
  const store = heldUp(world, {
    async before() {
      for (const { id: gone } of first) await world.connections.removeConnection(byOperator, gone)
      assert.deepEqual(await world.store.logins.listIds(id), [])
    },
  })
  const rows = await another(world, store).linkConnections(byOperator, id, fiskil)
  assert.equal(rows.length, 2)
  assert.equal(only(await world.store.logins.list(id), () => true).id, rows[0]?.loginId)
})

test('a stopped sweep leaves the deletion of a user unfinished, and the next one finishes it', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = (await world.addUser('a@b.example')) as UserId
  await link(world, id, people.fiskil)
  await world.store.users.disarm(id, world.clock.now())
  // No connection waits for itself: what is left to do is the user's.
  await world.tamper(`update connections set status = 'active' where user_id = '${id}'`)
  const emulator = need(world, 'fiskil')
  emulator.addFault({ does: { kind: 'hang' } })
  world.clock.advance(3_600_000)
  const stopping = new AbortController()
  const before = emulator.requests.length
  const sweep = world.connections.finishDeletions(stopping.signal)
  await until('the provider is asked', () => emulator.requests.length > before, 2)
  const from = performance.now()
  stopping.abort(new Error('this process is stopping'))
  await sweep
  assert.ok(performance.now() - from < 1000, 'stopping waits for nobody')
  assert.notEqual(await world.store.users.find(id, { deleting: true }), null)
  assert.deepEqual(world.deletions, [])
  emulator.clearFaults()
  await world.connections.finishDeletions()
  assert.equal(await world.store.users.find(id, { deleting: true }), null)
  assert.ok(emulator.people.healthy.consents.every(({ active }) => !active))
})

test('the events of a person are deleted before their row, whose deletion would take all of them at once', async (t) => {
  const world = await makeWorld(t, {})
  const id = (await world.addUser('a@b.example')) as UserId
  await addEndpoint(world.store, id)
  const events = await acceptChunks(world.store, id, newId<ConnectionId>(), 250)
  const find = () => Promise.all(events.map((event) => world.store.events.find(event)))
  assert.ok((await find()).every((event) => event !== null))
  let left: readonly unknown[] = events
  const users = {
    ...world.store.users,
    async delete(user: UserId) {
      left = (await find()).filter((event) => event !== null)
      return world.store.users.delete(user)
    },
  }
  assert.equal(await another(world, { ...world.store, users }).deleteUser(byOperator, id), true)
  assert.deepEqual(left, [])
})

/** Removing: invisible at once, ended at the provider, purged; and forgetting a person as a whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDeletionSweep } from '#connections/connections.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { akahu, errorOf, fiskil, link, listed, need, only, snaptrade, up } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const remove = async (world: World, id: string) =>
  (await world.ask('DELETE', `/admin/connections/${id}`)).status
const down = { does: { kind: 'reply', reply: { status: 500 } } } as const

test('204: a token of Up is only forgotten here: nothing is sent, and it still works there', async (t) => {
  const world = await makeWorld(t, { providers: ['up'] })
  const emulator = need(world, 'up')
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, up)
  emulator.requests.length = 0
  const { status } = await world.ask('DELETE', `/admin/connections/${connection?.id}`)
  assert.equal(status, 204)
  assert.deepEqual(emulator.requests, [])
  assert.equal(emulator.people.healthy?.token, up.token)
  assert.deepEqual(listed(await world.ask('GET', `/admin/users/${id}/connections`)), [])
})

test('204: a removed Fiskil connection is ended at the provider and deleted here; the other one is kept', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { consents } = need(world, 'fiskil').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, fiskil)
  const wattle = only(connections, (one) => one.institutionId === '22')
  assert.equal(await remove(world, wattle.id), 204)
  assert.equal(await world.store.connections.find(wattle.id), null)
  assert.equal(only(consents, (one) => one.institutionId === '22').active, false)
  assert.equal(only(consents, (one) => one.institutionId === '41').active, true)
  assert.equal((await world.store.logins.list(id as UserId)).length, 1)
  assert.equal(await remove(world, wattle.id), 404)
})

test('removing the last connection of an Akahu login ends the token and deletes the login', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, akahu)
  for (const [index, connection] of connections.entries()) {
    assert.notEqual(person.userToken, null)
    assert.equal((await world.store.logins.list(id as UserId)).length, 1)
    assert.equal(await remove(world, connection.id), 204)
    const left = connections.length - index - 1
    if (left > 0) assert.equal(new Set(person.accounts.map((one) => one.connection._id)).size, left)
  }
  assert.equal(person.userToken, null)
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('connections of one login that are removed at the same time leave nothing behind', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, akahu)
  const statuses = await Promise.all(connections.map((one) => remove(world, one.id)))
  assert.deepEqual(statuses, [204, 204, 204, 204])
  assert.equal(need(world, 'akahu').people.healthy.userToken, null)
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('when the provider is down the connection is invisible at once and waits for the sweep', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const emulator = need(world, 'snaptrade')
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, snaptrade)
  assert.ok(connection !== undefined)
  emulator.addFault(down)
  assert.equal(await remove(world, connection.id), 204)
  const path = `/admin/users/${id}/connections`
  const left = listed(await world.ask('GET', path))
  assert.ok(left.every((one) => one.id !== connection.id))
  const accounts = await world.store.accounts.list(id as UserId)
  assert.ok(accounts.every((one) => one.connectionId !== connection.id))
  assert.equal((await world.store.connections.find(connection.id))?.status, 'deleting')
  assert.equal((await world.ask('POST', `/admin/connections/${connection.id}/refresh`)).status, 404)
  assert.equal(world.deletions.at(-1)?.outcome, 'pending')
  assert.deepEqual(await world.connections.finishDeletions(), { done: 0, pending: 1 })
  emulator.clearFaults()
  assert.deepEqual(await world.connections.finishDeletions(), { done: 1, pending: 0 })
  assert.equal(await world.store.connections.find(connection.id), null)
  assert.equal(emulator.people.healthy.connections.length, 1)
  assert.deepEqual(await world.connections.finishDeletions(), { done: 0, pending: 0 })
})

test('a connection whose credentials are refused for good is purged: there is nothing left to end', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, snaptrade)
  need(world, 'snaptrade').people.healthy.userSecret = 'rotated by somebody else'
  assert.equal(await remove(world, connection?.id ?? ''), 204)
  assert.equal(await remove(world, connection?.id ?? ''), 404)
})

test('asking again to remove a waiting connection tries at once', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const emulator = need(world, 'snaptrade')
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, snaptrade)
  const ask = async () => {
    const { status, headers } = await world.ask('DELETE', `/admin/connections/${connection?.id}`)
    return [status, headers['x-connection-status']]
  }
  emulator.addFault(down)
  assert.deepEqual(await ask(), [204, 'deleting'])
  emulator.clearFaults()
  assert.deepEqual(await ask(), [204, undefined])
  assert.equal(await remove(world, connection?.id ?? ''), 404)
})

test('a sweep leaves a provider that is down alone after its first failure', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade', 'fiskil'] })
  const emulator = need(world, 'snaptrade')
  const id = await world.addUser('a@b.example')
  const rows = [...(await link(world, id, snaptrade)), ...(await link(world, id, fiskil))]
  for (const row of rows) await world.store.connections.setStatus(row.id, 'deleting')
  emulator.addFault(down)
  const before = emulator.requests.length
  assert.deepEqual(await world.connections.finishDeletions(), { done: 2, pending: 2 })
  assert.equal(emulator.requests.length, before + 1)
})

test('the sweep runs at the start, again after its interval, and can be stopped', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [first, second] = await link(world, id, fiskil)
  assert.ok(first !== undefined && second !== undefined)
  await world.store.connections.setStatus(first.id, 'deleting')
  const sweeps: number[] = []
  let swept = Promise.withResolvers<void>()
  const finish = async () => {
    const result = await world.connections.finishDeletions()
    sweeps.push(result.done)
    swept.resolve()
    return result
  }
  const sweep = startPeriodic(makeDeletionSweep(finish, 20), {
    done: () => {},
    failed: (_task, error) => t.diagnostic(String(error)),
  })
  await swept.promise
  assert.deepEqual(sweeps.slice(0, 1), [1])
  await world.store.connections.setStatus(second.id, 'deleting')
  while (sweeps.reduce((sum, done) => sum + done, 0) < 2) {
    swept = Promise.withResolvers<void>()
    await swept.promise
  }
  await sweep.stop()
  const count = sweeps.length
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.equal(sweeps.length, count)
})

test('a sweep that fails is reported and does not end the following ones', async () => {
  const failures: unknown[] = []
  const two = Promise.withResolvers<void>()
  const fail = () => Promise.reject(new Error('no store'))
  const sweep = startPeriodic(makeDeletionSweep(fail, 5), {
    done: () => {},
    failed: (_task, error) => {
      if (failures.push(error) === 2) two.resolve()
    },
  })
  await two.promise
  await sweep.stop()
  assert.match(String(failures[0]), /no store/)
})

test('a consent that was linked anew while its old connection waits is not ended by the sweep', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const emulator = need(world, 'snaptrade')
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, snaptrade)
  emulator.addFault(down)
  await remove(world, connection?.id ?? '')
  emulator.clearFaults()
  const again = await link(world, id, snaptrade)
  assert.equal(again.length, 2)
  assert.ok(again.every((one) => one.id !== connection?.id))
  assert.deepEqual(await world.connections.finishDeletions(), { done: 1, pending: 0 })
  assert.equal(emulator.people.healthy.connections.length, 2)
  assert.equal((await world.store.connections.list(id as UserId)).length, 2)
})

test('deleting a person ends every consent and deletes all their rows, and no others', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil', 'akahu', 'snaptrade'] })
  const emma = await world.addUser('emma@b.example')
  const jack = await world.addUser('jack@b.example')
  for (const credentials of [fiskil, akahu, snaptrade]) await link(world, emma, credentials)
  const his = await link(world, jack, { provider: 'fiskil', endUserId: 'eu_sandbox_history' })
  assert.equal((await world.ask('DELETE', `/admin/users/${emma}`)).status, 204)
  assert.ok(need(world, 'fiskil').people.healthy.consents.every((one) => !one.active))
  assert.equal(need(world, 'akahu').people.healthy.userToken, null)
  assert.deepEqual(need(world, 'snaptrade').people.healthy.connections, [])
  assert.deepEqual(await world.store.logins.list(emma as UserId), [])
  assert.deepEqual(await world.store.accounts.list(emma as UserId), [])
  assert.deepEqual(
    listed(await world.ask('GET', `/admin/users/${jack}/connections`)).map((one) => one.id),
    his.map((one) => one.id),
  )
  assert.ok(need(world, 'fiskil').people.history.consents.every((one) => one.active))
})

test('a provider that never answers does not prevent the deletion of a person, and is reported', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil', 'akahu'], timeoutMs: 1500 })
  const id = await world.addUser('a@b.example')
  await link(world, id, fiskil)
  await link(world, id, akahu)
  need(world, 'fiskil').addFault({ does: { kind: 'hang' } })
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.equal((await world.ask('GET', `/admin/users/${id}`)).status, 404)
  assert.equal(need(world, 'akahu').people.healthy.userToken, null)
  const outcomes = world.deletions.map((one) => `${one.provider} ${one.outcome}`).sort()
  assert.deepEqual(outcomes, [...Array(4).fill('akahu done'), ...Array(2).fill('fiskil abandoned')])
})

test('while a person is being deleted their keys are refused', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const { hashKey } = await import('#auth/keys.ts')
  const id = await world.addUser('a@b.example')
  await link(world, id, snaptrade)
  const key = await world.ask('POST', `/admin/users/${id}/keys`)
  const hash = hashKey((key.body as { key: string }).key)
  const seen = Promise.withResolvers<unknown>()
  need(world, 'snaptrade').addFault({
    does: {
      kind: 'edit',
      edit: (reply) => {
        seen.resolve(world.store.keys.findCaller(hash))
        return reply
      },
    },
  })
  await world.ask('DELETE', `/admin/users/${id}`)
  assert.equal(await seen.promise, null)
})

test('404 and no other status for the connection of a deleted person', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  await world.ask('DELETE', `/admin/users/${id}`)
  const answer = await world.ask('DELETE', `/admin/connections/${connection?.id as ConnectionId}`)
  assert.equal(answer.status, 404)
  assert.equal(errorOf(answer).code, 'connection_not_found')
})

/** The row was moved, or its bytes changed: whatever key is listed, they open no more. */
const damageSecrets = (world: World, userId: string) =>
  world.tamper(`update logins set secret = zeroblob(64) where user_id = '${userId}'`)

test('a login secret that does not decrypt stops neither the sweep nor the later deletions', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade', 'akahu'] })
  const damaged = await world.addUser('a@b.example')
  const sound = await world.addUser('c@d.example')
  const lost = await link(world, damaged, snaptrade)
  const rows = [...lost, ...(await link(world, sound, akahu))]
  for (const row of rows) await world.store.connections.setStatus(row.id, 'deleting')
  await damageSecrets(world, damaged)
  assert.deepEqual(await world.connections.finishDeletions(), { done: 6, pending: 0 })
  for (const row of rows) {
    const isLost = lost.some(({ id }) => id === row.id)
    const told = only(world.deletions, ({ connectionId }) => connectionId === row.id)
    assert.equal(told.outcome, isLost ? 'abandoned' : 'done')
    assert.equal(told.detail, isLost ? 'the secret of its login does not open' : '')
    assert.equal(await world.store.connections.find(row.id), null)
  }
  assert.equal(need(world, 'akahu').people.healthy.userToken, null)
  assert.deepEqual(await world.store.logins.listIds(damaged as UserId), [])
})

test('a person whose login secret does not decrypt is deleted, and the abandoned consents are reported', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade', 'fiskil'] })
  const id = await world.addUser('a@b.example')
  await link(world, id, snaptrade)
  await link(world, id, fiskil)
  await damageSecrets(world, id)
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.equal((await world.ask('GET', `/admin/users/${id}`)).status, 404)
  const outcomes = world.deletions.map((one) => `${one.provider} ${one.outcome}`).sort()
  assert.deepEqual(outcomes, [
    ...Array(2).fill('fiskil abandoned'),
    ...Array(2).fill('snaptrade abandoned'),
  ])
})

test('204: a connection whose login secret does not open is removed, the other of its login stays', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  const [first, second] = await link(world, id, snaptrade)
  await damageSecrets(world, id)
  assert.equal(await remove(world, first?.id ?? ''), 204)
  assert.equal(world.deletions.at(-1)?.outcome, 'abandoned')
  const left = await world.store.connections.list(id as UserId)
  assert.deepEqual(
    left.map((row) => row.id),
    [second?.id],
  )
})

test('a stopped sweep aborts its current call and makes no other', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu', 'snaptrade'], timeoutMs: 60_000 })
  const id = await world.addUser('a@b.example')
  const rows = [...(await link(world, id, akahu)), ...(await link(world, id, snaptrade))]
  for (const row of rows) await world.store.connections.setStatus(row.id, 'deleting')
  const emulators = [need(world, 'akahu'), need(world, 'snaptrade')]
  for (const emulator of emulators) emulator.addFault({ does: { kind: 'hang' } })
  const countCalls = () => emulators.reduce((sum, { requests }) => sum + requests.length, 0)
  const before = countCalls()
  const sweep = startPeriodic(makeDeletionSweep(world.connections.finishDeletions), {
    done: () => {},
    failed: (_task, error) => assert.fail(String(error)),
  })
  await until('the provider is asked', () => countCalls() !== before, 5)
  const from = performance.now()
  await sweep.stop()
  assert.ok(performance.now() - from < 1000, 'stopping waits for nobody')
  assert.equal(countCalls(), before + 1)
  const told = world.deletions.map(({ outcome, detail }) => `${outcome}: ${detail}`)
  assert.deepEqual(told, ['pending: this process is stopping'])
  for (const row of rows)
    assert.equal((await world.store.connections.find(row.id))?.status, 'deleting')
})

test('five hundred stuck deletions delay no other by more than a sweep', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil', 'snaptrade'] })
  const id = await world.addUser('a@b.example')
  const [stuck] = await link(world, id, fiskil)
  const [waiting] = await link(world, id, snaptrade)
  assert.ok(stuck !== undefined && waiting !== undefined)
  // Their ids come before any that is drawn by lot, and the sweep goes by ids.
  const ids = Array.from(
    { length: 500 },
    (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  )
  await world.tamper(`insert into connections (id, user_id, login_id, provider, upstream_id, institution_id,
    institution_name, institution_logo, status, last_refreshed_at, created_at)
    select value, user_id, login_id, provider, upstream_id, institution_id, institution_name, institution_logo,
    'deleting', last_refreshed_at, created_at from connections, json_each('${JSON.stringify(ids)}') where connections.id = '${stuck.id}'`)
  await world.store.connections.setStatus(waiting.id, 'deleting')
  await world.store.connections.setStatus(stuck.id, 'deleting')
  need(world, 'fiskil').addFault(down)
  assert.deepEqual(await world.connections.finishDeletions(), { done: 0, pending: 500 })
  assert.deepEqual(await world.connections.finishDeletions(), { done: 1, pending: 499 })
  assert.equal(await world.store.connections.find(waiting.id), null)
})

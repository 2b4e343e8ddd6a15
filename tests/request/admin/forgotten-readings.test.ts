/** What was read of a provider does not outlive the login that it was read with (reading R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { addDays } from '#kernel/time.ts'
import { todayOf, windowDays } from '#providers/simplefin/consent.ts'
import { toAccessUrl } from '#sandbox/simplefin/index.ts'
import { link, need } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const call = { signal: new AbortController().signal, priority: 'user' } as const

/** A person with a login of SimpleFIN that was read just now. */
async function addReader(world: World) {
  const id = await world.addUser('a@b.example')
  const setupToken = toAccessUrl(need(world, 'simplefin').baseUrl, 'healthy')
  const connections = await link(world, id, { provider: 'simplefin', setupToken })
  const [login] = await world.store.logins.list(id as UserId)
  assert.ok(login !== undefined)
  await world.adapters.simplefin?.discover(login, call)
  const first = addDays(todayOf(world.clock), -windowDays)
  const name = JSON.stringify([Date.parse(first) / 1000, null])
  const peek = () => world.readings.peek({ name, login, maxAgeMs: 3_600_000 })
  assert.notEqual(await peek(), null)
  return { id, peek, connections }
}

test('R36: removing the last connection of a login deletes what was read with it', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const { peek, connections } = await addReader(world)
  for (const [index, { id }] of connections.entries()) {
    assert.notEqual(await peek(), null, `before connection ${index}`)
    assert.equal((await world.ask('DELETE', `/admin/connections/${id}`)).status, 204)
  }
  assert.equal(await peek(), null)
})

test('R36: deleting a person deletes what was read in their name', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const { id, peek } = await addReader(world)
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.equal(await peek(), null)
})

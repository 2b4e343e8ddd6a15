/** How many connections and accounts one person may have, whatever a server of their own makes up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { toAccessUrl } from '#sandbox/simplefin/index.ts'
import { type SimplefinConnection, toPassword, toUser } from '#sandbox/simplefin/people.ts'
import { errorOf, link, need } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const paste = (setupToken: string) => ({ provider: 'simplefin', setupToken })

/** Somebody at the server with so many banks, each with so many accounts. */
function addSomebody(world: World, name: string, { banks = 1, accounts = 1 } = {}) {
  const { people, baseUrl } = need(world, 'simplefin')
  const { healthy } = people
  const [bank] = healthy?.connections ?? []
  const [account] = bank?.accounts ?? []
  assert.ok(healthy !== undefined && bank !== undefined && account !== undefined)
  const connections = Array.from({ length: banks }, (_, at): SimplefinConnection => {
    const accountsOf = Array.from({ length: accounts }, (_, index) => {
      return { ...account, id: `${name}-${at}-${index}`, rows: [] }
    })
    return { ...bank, connId: `${name}-${at}`, accounts: accountsOf }
  })
  people[name] = { ...healthy, user: toUser(name), password: toPassword(name), connections }
  return paste(toAccessUrl(baseUrl, name))
}

test('409: what would be the 501st connection is refused with all that came with it', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const id = await world.addUser('a@b.example')
  await link(world, id, addSomebody(world, 'one', { banks: 200 }))
  await link(world, id, addSomebody(world, 'two', { banks: 200 }))
  await link(world, id, addSomebody(world, 'three', { banks: 99 }))
  const more = addSomebody(world, 'four', { banks: 2 })
  const refused = await world.ask('POST', `/admin/users/${id}/connections`, more)
  assert.deepEqual([refused.status, errorOf(refused).code], [409, 'too_many_connections'])
  assert.match(errorOf(refused).message, /At most 500 connections.*remove a connection first/)
  assert.equal((await world.store.connections.list(id as UserId)).length, 499)
  // What is there is linked again, and others have their own count.
  await link(world, id, addSomebody(world, 'one', { banks: 200 }))
  await link(world, id, addSomebody(world, 'five'))
  const other = await world.addUser('c@d.example')
  await link(world, other, more)
})

test('409: a refresh that would bring more than 5,000 accounts stores none of them, and one without new ones goes on', async (t) => {
  const world = await makeWorld(t, { providers: ['simplefin'] })
  const id = (await world.addUser('a@b.example')) as UserId
  await link(world, id, addSomebody(world, 'one', { accounts: 2000 }))
  await link(world, id, addSomebody(world, 'two', { accounts: 2000 }))
  const [third] = await link(world, id, addSomebody(world, 'three', { accounts: 999 }))
  const refresh = () => world.ask('POST', `/admin/connections/${third?.id}/refresh`)
  addSomebody(world, 'three', { accounts: 1001 })
  world.clock.advance(2 * 60 * 60_000)
  const refused = await refresh()
  assert.deepEqual([refused.status, errorOf(refused).code], [409, 'too_many_connections'])
  assert.equal((await world.store.accounts.list(id)).length, 4999)
  addSomebody(world, 'three', { accounts: 1000 })
  world.clock.advance(2 * 60 * 60_000)
  assert.equal((await refresh()).status, 200)
  assert.equal((await world.store.accounts.list(id)).length, 5000)
  world.clock.advance(2 * 60 * 60_000)
  assert.equal((await refresh()).status, 200)
})

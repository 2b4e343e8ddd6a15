/**
 * Links that begin at one process while another one ends their login: because its last connection is removed,
 * or because an hour after its link nothing uses it. No link goes to a login that ends, and none ends that a
 * link went to.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { Adapters, BankingAdapter } from '#providers/port.ts'
import { need } from './credentials.ts'
import {
  agree,
  another,
  arrive,
  baseUrl,
  endUsersOf,
  linkBank,
  statusesOf,
  visit,
} from './two-processes.ts'
import type { World } from './world.ts'

/** Fiskil's adapter that does `work` while it is asked to end the consent of a connection. */
function whileEnding({ adapters }: World, work: () => Promise<void>): Adapters {
  const { fiskil } = adapters
  assert(fiskil !== undefined)
  const revoke: BankingAdapter['revoke'] = async (...asked) => {
    await work()
    return fiskil.revoke(...asked)
  }
  return { ...adapters, fiskil: { ...fiskil, revoke } as BankingAdapter }
}

test('a link that another process begins while the last connection is removed goes to a login of its own', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const { id } = await linkBank(visitor, '22')
  let query = new URLSearchParams()
  const adapters = whileEnding(world, async () => {
    query = await agree(visitor, '41')
  })
  await another(world, adapters).removeConnection(byOperator, id)
  await arrive(visitor, query, world.connections)
  assert.deepEqual(await statusesOf(visitor), ['41 active'])
  assert.deepEqual(endUsersOf(world), [true, false])
})

test('a link whose login ends elsewhere before it is stored goes to a login of its own', async (t) => {
  const visitor = await visit(t)
  const { world, by, userId } = visitor
  const { id } = await linkBank(visitor, '22')
  let isLinked = true
  const transact: typeof world.store.transact = async (change) => {
    if (isLinked) {
      isLinked = false
      await world.connections.removeConnection(byOperator, id)
    }
    return world.store.transact(change)
  }
  const store = { ...world.store, transact }
  const start = { userId, provider: 'fiskil', institutionId: '41', connectionId: null } as const
  await another({ ...world, store }, world.adapters).startLinking(by, { ...start, baseUrl })
  assert.deepEqual(endUsersOf(world), [true, false])
  assert.equal((await world.store.logins.listIds(userId)).length, 1)
  // That of the first link, and one of the second: no page was opened for the login that had ended.
  const pages = need(world, 'fiskil').requests.filter(({ path }) => path === '/v1/auth/session')
  assert.equal(pages.length, 2)
})

test('a login stays whose last two connections two processes remove when a link was begun between', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const [first, last] = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  let query = new URLSearchParams()
  const adapters = whileEnding(world, async () => {
    query = await agree(visitor, '73')
    await world.connections.removeConnection(byOperator, last.id)
  })
  await another(world, adapters).removeConnection(byOperator, first.id)
  await arrive(visitor, query, world.connections)
  assert.deepEqual(await statusesOf(visitor), ['73 active'])
  assert.deepEqual(endUsersOf(world), [false])
})

test('a login stays whose last two connections two processes remove while a link that was begun with it ends', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const [first, second] = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  await world.connections.removeConnection(byOperator, second.id)
  const query = await agree(visitor, '73')
  // The removal has looked before it asks the provider; now the link ends, and then it looks again.
  const adapters = whileEnding(world, async () => {
    await arrive(visitor, query, world.connections)
  })
  await another(world, adapters).removeConnection(byOperator, first.id)
  assert.deepEqual(await statusesOf(visitor), ['73 active'])
  assert.deepEqual(endUsersOf(world), [false])
})

/** Fiskil's adapter that does `work` while it is asked to end a login that no connection uses. */
function whileEndingLogin({ adapters }: World, work: () => Promise<void>): Adapters {
  const { fiskil } = adapters
  assert(fiskil?.endLogin !== undefined)
  const { endLogin: end } = fiskil
  const endLogin: typeof end = async (...asked) => {
    await work()
    return end(...asked)
  }
  return { ...adapters, fiskil: { ...fiskil, endLogin } as BankingAdapter }
}

test('a link that begins while a login ends whose last two connections two processes removed at once goes to a login of its own', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const [first, second] = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  let query = new URLSearchParams()
  // Each removal finds the connection of the other one, so that the login is ended by itself.
  const removing = whileEnding(world, async () => {
    await world.connections.removeConnection(byOperator, second.id)
  })
  const adapters = whileEndingLogin({ ...world, adapters: removing }, async () => {
    query = await agree(visitor, '73')
  })
  await another(world, adapters).removeConnection(byOperator, first.id)
  const end = await arrive(visitor, query, world.connections)
  assert.equal(end.kind, 'linked')
  assert.deepEqual(await statusesOf(visitor), ['73 active'])
  assert.deepEqual(endUsersOf(world), [true, false])
})

test('a link that begins while a sweep at another process ends a login that nothing used goes to a login of its own', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  await agree(visitor, '22')
  world.clock.advance(60 * 60_000 + 1)
  let query = new URLSearchParams()
  const adapters = whileEndingLogin(world, async () => {
    query = await agree(visitor, '41')
  })
  await another(world, adapters).finishDeletions()
  const end = await arrive(visitor, query, world.connections)
  assert.equal(end.kind, 'linked')
  assert.deepEqual(await statusesOf(visitor), ['41 active'])
  assert.deepEqual(endUsersOf(world), [true, false])
})

test('a login of which two connections wait for their provider takes a link, and stays once they have ended', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const rows = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  need(world, 'fiskil').addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  for (const { id } of rows) await world.connections.removeConnection(byOperator, id)
  need(world, 'fiskil').clearFaults()
  const query = await agree(visitor, '73')
  assert.deepEqual(await another(world).finishDeletions(), { done: 2, pending: 0 })
  await arrive(visitor, query, world.connections)
  assert.deepEqual(await statusesOf(visitor), ['73 active'])
  assert.deepEqual(endUsersOf(world), [false])
})

test('a login whose last two connections two processes removed at once is ended by the sweep when its provider fails meanwhile', async (t) => {
  const visitor = await visit(t)
  const { world, userId } = visitor
  const [first, second] = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  const removing = whileEnding(world, async () => {
    await world.connections.removeConnection(byOperator, second.id)
  })
  const adapters = whileEndingLogin({ ...world, adapters: removing }, async () => {
    need(world, 'fiskil').addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  })
  await another(world, adapters).removeConnection(byOperator, first.id)
  need(world, 'fiskil').clearFaults()
  assert.deepEqual(await statusesOf(visitor), [])
  assert.deepEqual(endUsersOf(world), [false])
  world.clock.advance(60 * 60_000 + 1)
  await world.connections.finishDeletions()
  assert.deepEqual(await world.store.logins.listIds(userId), [])
  assert.deepEqual(endUsersOf(world), [true])
})

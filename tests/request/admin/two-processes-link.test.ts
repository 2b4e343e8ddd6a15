/**
 * Links, renewals and removals of one person in two processes at once: another connections room on the same
 * store stands for a process. A list of consents that was read before a change elsewhere changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Adapters, BankingAdapter } from '#providers/port.ts'
import { akahu, link, need, only, snaptrade } from './credentials.ts'
import {
  agree,
  another,
  arrive,
  baseUrl,
  endUsersOf,
  linkBank,
  personOf,
  statusesOf,
  visit,
} from './two-processes.ts'
import { makeWorld, type World } from './world.ts'

/** Fiskil's adapter whose next list of consents is held back, once it was read, until `work` is done. */
function whileRead({ adapters }: World, work: () => Promise<void>): Adapters {
  const { fiskil } = adapters
  assert(fiskil !== undefined)
  let isHeld = true
  const discover: BankingAdapter['discover'] = async (login, call) => {
    const found = await fiskil.discover(login, call)
    if (isHeld) {
      isHeld = false
      await work()
    }
    return found
  }
  return { ...adapters, fiskil: { ...fiskil, discover } as BankingAdapter }
}

test('a refresh that read the consents before another process linked a bank does not call that bank withdrawn', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const first = await linkBank(visitor, '22')
  const query = await agree(visitor, '41')
  const { consents } = personOf(world)
  const [late] = consents.splice(1)
  assert(late !== undefined)
  const waiting = await arrive(visitor, query, world.connections)
  assert(waiting.kind === 'waiting')
  const adapters = whileRead(world, async () => {
    consents.push(late)
    const end = await world.connections.resumeLinking(visitor.by, waiting.attempt)
    assert.equal(end.kind, 'linked')
  })
  await another(world, adapters).refreshConnection(byOperator, first.id, { priority: 'user' })
  assert.deepEqual(await statusesOf(visitor), ['22 active', '41 active'])
})

test('a refresh that read a consent as expired before it was renewed elsewhere does not break it again', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const { id } = await linkBank(visitor, '22')
  const consent = only(personOf(world).consents, () => true)
  consent.expiresAtMs = world.clock.now()
  world.clock.advance(1000)
  const adapters = whileRead(world, async () => {
    const end = await arrive(visitor, await agree(visitor, null, id), world.connections)
    assert.equal(end.kind, 'linked')
  })
  const row = await another(world, adapters).refreshConnection(byOperator, id, {
    priority: 'background',
  })
  assert.equal(row.status, 'active')
})

test('a loss that a read found before the renewal changes nothing', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const { id, loginId } = await linkBank(visitor, '22')
  const query = await agree(visitor, null, id)
  const consent = only(personOf(world).consents, () => true)
  consent.active = false
  const waiting = await arrive(visitor, query, world.connections)
  assert(waiting.kind === 'waiting')
  const login = (await world.store.logins.find(loginId)) ?? assert.fail('there is no login')
  consent.active = true
  assert.equal((await world.connections.resumeLinking(visitor.by, waiting.attempt)).kind, 'linked')
  await world.store.connections.saveLearntStatus({
    login,
    connectionId: id,
    from: ['active'],
    to: 'invalidated',
  })
  assert.deepEqual(await statusesOf(visitor), ['22 active'])
})

test('a bank that another process removes while a return is read does not come back', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const first = await linkBank(visitor, '22')
  const query = await agree(visitor, '41')
  const adapters = whileRead(world, async () => {
    await world.connections.removeConnection(byOperator, first.id)
  })
  const end = await arrive(visitor, query, another(world, adapters))
  assert.equal(end.kind, 'linked')
  assert.deepEqual(await statusesOf(visitor), ['41 active'])
})

test('a bank whose end the provider has not confirmed does not come back when another one is linked', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const fiskil = need(world, 'fiskil')
  const first = await linkBank(visitor, '22')
  const query = await agree(visitor, '41')
  fiskil.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  await world.connections.removeConnection(byOperator, first.id)
  fiskil.clearFaults()
  assert.equal((await arrive(visitor, query, world.connections)).kind, 'linked')
  assert.deepEqual(await statusesOf(visitor), ['41 active'])
  assert.deepEqual(await world.connections.finishDeletions(), { done: 1, pending: 0 })
  assert.deepEqual(
    personOf(world)
      .consents.filter(({ active }) => active)
      .map(({ institutionId }) => institutionId),
    ['41'],
  )
})

test('two processes that remove the last two connections at once leave no login and no token', async (t) => {
  for (const [name, credentials] of [
    ['akahu', akahu],
    ['snaptrade', snaptrade],
  ] as const) {
    const world = await makeWorld(t, { providers: [name] })
    const userId = (await world.addUser('a@b.example')) as UserId
    const rows = await link(world, userId, credentials)
    const [one, two, ...rest] = rows
    assert(one !== undefined && two !== undefined)
    for (const { id } of rest) await world.connections.removeConnection(byOperator, id as never)
    for (const { id } of [one, two]) {
      const asked = { endsAtProvider: false, at: world.clock.now() }
      await world.store.connections.startDeletion(id as never, asked)
    }
    const rooms = [another(world), another(world)]
    await Promise.all(
      [one, two].map(({ id }, index) => rooms[index]?.removeConnection(byOperator, id as never)),
    )
    assert.deepEqual(await world.store.logins.list(userId), [])
    if (name === 'akahu') assert.equal(need(world, 'akahu').people.healthy.userToken, null)
    // This user existed at the provider before, and others may use it.
    else assert.ok(need(world, 'snaptrade').people.healthy !== undefined)
  }
})

test('an end user that was made here ends with its last connection, and the next link makes the only other one', async (t) => {
  const visitor = await visit(t)
  const { world } = visitor
  const rows = [await linkBank(visitor, '22'), await linkBank(visitor, '41')]
  for (const [index, { id }] of rows.entries()) {
    await world.connections.removeConnection(byOperator, id)
    assert.deepEqual(endUsersOf(world), [index === 1])
  }
  await linkBank(visitor, '22')
  assert.deepEqual(endUsersOf(world), [true, false])
})

test('an end user that was adopted stays at the provider without connections, also when a bank was linked to it here', async (t) => {
  const visitor = await visit(t)
  const { world, userId } = visitor
  await link(world, userId, { provider: 'fiskil', endUserId: 'eu_sandbox_healthy' })
  await linkBank(visitor, '73')
  for (const { id } of await world.store.connections.list(userId)) {
    await world.connections.removeConnection(byOperator, id)
  }
  assert.deepEqual(await world.store.logins.list(userId), [])
  const { healthy } = need(world, 'fiskil').people
  assert.equal(healthy.deleted, false)
  assert.ok(healthy.consents.every(({ active }) => !active))
})

test('a link that was begun and never ended leaves nothing after its hour: no login here, no end user there', async (t) => {
  const visitor = await visit(t)
  const { world, userId } = visitor
  await agree(visitor, '22')
  await world.connections.finishDeletions()
  assert.equal((await world.store.logins.listIds(userId)).length, 1)
  world.clock.advance(60 * 60_000 + 1)
  need(world, 'fiskil').addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  await world.connections.finishDeletions()
  assert.equal((await world.store.logins.listIds(userId)).length, 1)
  need(world, 'fiskil').clearFaults()
  await world.connections.finishDeletions()
  assert.deepEqual(await world.store.logins.listIds(userId), [])
  assert.deepEqual(endUsersOf(world), [true])
})

test('a bank that was removed does not come back as a withdrawn one when the next bank is linked', async (t) => {
  const visitor = await visit(t)
  const first = await linkBank(visitor, '22')
  await linkBank(visitor, '41')
  await visitor.world.connections.removeConnection(byOperator, first.id)
  await linkBank(visitor, '73')
  assert.deepEqual(await statusesOf(visitor), ['41 active', '73 active'])
})

test('two processes that begin the first link of a person at once make one end user, whichever looked first', async (t) => {
  const { world, by, userId } = await visit(t)
  const start = {
    userId,
    provider: 'fiskil',
    institutionId: null,
    connectionId: null,
    baseUrl,
  } as const
  let isStale = true
  const { logins } = world.store
  // The second one has looked before the first one stored its login.
  const listIds: typeof logins.listIds = async (user) => {
    if (!isStale) return logins.listIds(user)
    isStale = false
    return []
  }
  const store = { ...world.store, logins: { ...logins, listIds } }
  const people = () => Object.keys(need(world, 'fiskil').people).length
  const before = people()
  await world.connections.startLinking(by, start)
  await another({ ...world, store }, world.adapters).startLinking(by, start)
  assert.equal(isStale, false)
  assert.equal((await logins.listIds(userId)).length, 1)
  assert.equal(people(), before + 1)
})

/** Refreshing: what changed at the provider since the link, seen through the real adapters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bySystem } from '#contract/actor.ts'
import { Connection } from '#contract/resources.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { migrateAccount } from '#sandbox/akahu/people.ts'
import { akahu, errorOf, fiskil, link, need, only, snaptrade } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

async function refresh(world: World, id: string): Promise<Connection> {
  const { status, body } = await world.ask('POST', `/admin/connections/${id}/refresh`)
  assert.equal(status, 200, JSON.stringify(body))
  return Connection.parse(body)
}

const accountsOf = (world: World, userId: string, id: string) =>
  world.store.accounts.listByConnection(userId as UserId, id as ConnectionId)

test('200: a refresh without changes updates the time and nothing else', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  assert.ok(connection !== undefined)
  world.clock.advance(60_000)
  const refreshed = await refresh(world, connection.id)
  assert.deepEqual(refreshed, { ...connection, lastRefreshedAt: '2026-11-20T03:16:00.000Z' })
})

test('a refresh by an operator is in the audit, one that the service makes itself is not', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  assert.ok(connection !== undefined)
  const own = connection.id as ConnectionId
  await world.connections.refreshConnection(bySystem, own, { priority: 'background' })
  await refresh(world, own)
  const refreshes = (await world.readAudit()).filter(
    ({ action }) => action === 'connections.refresh',
  )
  assert.deepEqual(
    refreshes.map(({ actor, subject }) => [actor, subject]),
    [['admin', connection.id]],
  )
})

test('R24b: unavailable balances prevent no link and change no known currency', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const emulator = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const outage = () =>
    emulator.addFault({
      when: ({ path }) => path === '/v1/banking/balances',
      does: { kind: 'reply', reply: { status: 503 } },
    })
  outage()
  const wattle = only(await link(world, id, fiskil), (one) => one.institutionId === '22')
  const currency = async () =>
    only(await accountsOf(world, id, wattle.id), (one) => one.name === 'Travel Card USD').currency
  assert.equal(await currency(), 'AUD')
  emulator.clearFaults()
  await refresh(world, wattle.id)
  assert.equal(await currency(), 'USD')
  outage()
  await refresh(world, wattle.id)
  assert.equal(await currency(), 'USD')
})

test('a refresh without changes keeps cached answers valid', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const { hashKey } = await import('#auth/keys.ts')
  const id = await world.addUser('a@b.example')
  const key = await world.ask('POST', `/admin/users/${id}/keys`)
  const hash = hashKey((key.body as { key: string }).key)
  const [connection] = await link(world, id, snaptrade)
  const before = await world.store.keys.findCaller(hash)
  await refresh(world, connection?.id ?? '')
  assert.equal((await world.store.keys.findCaller(hash))?.epoch, before?.epoch)
})

test('R10: a link, a changed status and a removal invalidate what was cached for the user', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const { hashKey } = await import('#auth/keys.ts')
  const id = await world.addUser('a@b.example')
  const key = await world.ask('POST', `/admin/users/${id}/keys`)
  const hash = hashKey((key.body as { key: string }).key)
  const epochs: number[] = []
  const look = async () => epochs.push((await world.store.keys.findCaller(hash))?.epoch ?? -1)
  await look()
  await link(world, id, snaptrade)
  await look()
  const [broker] = need(world, 'snaptrade').people.healthy.connections
  if (broker !== undefined) broker.disabled = true
  const [row] = await world.store.connections.list(id as UserId)
  await refresh(world, row?.id ?? '')
  await look()
  await world.ask('DELETE', `/admin/connections/${row?.id}`)
  await look()
  assert.deepEqual(
    epochs,
    [...new Set(epochs)].sort((a, b) => a - b),
  )
})

test('an expired Fiskil consent is invalidated, a withdrawn one revoked, and the accounts stay', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { consents } = need(world, 'fiskil').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, fiskil)
  const wattle = only(connections, (one) => one.institutionId === '22')
  const southern = only(connections, (one) => one.institutionId === '41')
  only(consents, (one) => one.institutionId === '22').expiresAtMs = world.clock.now() - 1
  only(consents, (one) => one.institutionId === '41').active = false
  assert.equal((await refresh(world, wattle.id)).status, 'invalidated')
  assert.equal((await refresh(world, southern.id)).status, 'revoked')
  assert.equal((await accountsOf(world, id, wattle.id)).length, 5)
})

test('a Fiskil consent that was renewed under a new id keeps our connection and accounts', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { people } = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const wattle = only(await link(world, id, fiskil), (one) => one.institutionId === '22')
  const accounts = await accountsOf(world, id, wattle.id)
  const former = only(people.healthy.consents, (one) => one.institutionId === '22')
  const renewed = {
    ...former,
    arrangementId: '11111111-2222-4333-a444-555555555555',
    createdAtMs: world.clock.now(),
    expiresAtMs: world.clock.now() + 86_400_000,
  }
  former.active = false
  former.accounts = []
  people.healthy.consents.push(renewed)
  const refreshed = await refresh(world, wattle.id)
  assert.equal(refreshed.id, wattle.id)
  assert.equal(refreshed.status, 'active')
  const row = await world.store.connections.find(wattle.id)
  assert.equal(row?.upstreamId, renewed.arrangementId)
  const ids = (await accountsOf(world, id, wattle.id)).map((one) => one.id).sort()
  assert.deepEqual(ids, accounts.map((one) => one.id).sort())
})

test('a newer Fiskil consent takes the place of one that works, which others may use where its end user was adopted', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { people } = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const wattle = only(await link(world, id, fiskil), (one) => one.institutionId === '22')
  const former = only(people.healthy.consents, (one) => one.institutionId === '22')
  const newer = { ...former, arrangementId: '11111111-2222-4333-a444-555555555555' }
  people.healthy.consents.push({ ...newer, createdAtMs: world.clock.now() })
  await refresh(world, wattle.id)
  const { loginId } = (await world.store.connections.find(wattle.id)) ?? assert.fail('it is gone')
  const rows = await world.store.connections.listByLogin(loginId)
  const ids = rows
    .filter(({ institutionId }) => institutionId === '22')
    .map((row) => row.upstreamId)
  assert.deepEqual(ids, [newer.arrangementId])
})

test('a Fiskil consent that was withdrawn and given again becomes active, also by linking', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { people } = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const wattle = only(await link(world, id, fiskil), (one) => one.institutionId === '22')
  const former = only(people.healthy.consents, (one) => one.institutionId === '22')
  former.active = false
  assert.equal((await refresh(world, wattle.id)).status, 'revoked')
  const renewed = { ...former, arrangementId: '11111111-2222-4333-a444-555555555555', active: true }
  people.healthy.consents.push({ ...renewed, createdAtMs: world.clock.now() })
  const again = only(await link(world, id, fiskil), (one) => one.institutionId === '22')
  assert.deepEqual([again.id, again.status], [wattle.id, 'active'])
})

test('an INACTIVE Akahu account invalidates its login alone; a login that is gone is revoked', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, akahu)
  const of = (name: string) => only(connections, (one) => one.institutionName === name)
  const loan = only(person.accounts, (one) => one.name === 'Home Loan')
  loan.status = 'INACTIVE'
  person.accounts = person.accounts.filter((one) => one.connection.name !== 'American Express')
  assert.equal((await refresh(world, of('Kiwibank').id)).status, 'invalidated')
  const statuses = new Map(
    (await world.store.connections.list(id as UserId)).map((one) => [
      one.institutionName,
      one.status,
    ]),
  )
  // One answer contains every login of the token.
  assert.equal(statuses.get('American Express'), 'revoked')
  assert.equal(statuses.get('Sharesies'), 'active')
})

test('a refused Akahu token invalidates every connection of it; withdrawn ones stay withdrawn', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, akahu)
  const kiwibank = only(connections, (one) => one.institutionName === 'Kiwibank')
  const amex = only(connections, (one) => one.institutionName === 'American Express')
  await world.store.connections.setStatus(amex.id, 'revoked')
  person.userToken = null
  assert.equal((await refresh(world, kiwibank.id)).status, 'invalidated')
  const rows = await world.store.connections.list(id as UserId)
  assert.deepEqual(rows.map((one) => one.status).sort(), [
    'invalidated',
    'invalidated',
    'invalidated',
    'revoked',
  ])
})

test('accounts that Akahu moved to an official connection keep their ids and follow the institution', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  const amex = only(
    await link(world, id, akahu),
    (one) => one.institutionName === 'American Express',
  )
  const [before] = await accountsOf(world, id, amex.id)
  const card = only(person.accounts, (one) => one.connection.name === 'American Express')
  const official = {
    _id: 'conn_official_amex',
    name: 'American Express NZ',
    logo: '',
    connection_type: 'official',
  } as const
  migrateAccount(card, official)
  // The move gives the login a new name as well.
  card._authorisation = 'auth_official_amex'
  const refreshed = await refresh(world, amex.id)
  assert.equal(refreshed.id, amex.id)
  assert.equal(refreshed.institutionId, 'conn_official_amex')
  assert.equal(refreshed.institutionName, 'American Express NZ')
  const [after] = await accountsOf(world, id, amex.id)
  assert.equal(after?.id, before?.id)
  assert.notEqual(after?.upstreamId, before?.upstreamId)
})

test('another login at the same bank is not matched to the one that was removed', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  const amex = only(
    await link(world, id, akahu),
    (one) => one.institutionName === 'American Express',
  )
  const card = only(person.accounts, (one) => one.connection.name === 'American Express')
  card._id = 'acc_of_somebody_else'
  card._authorisation = 'auth_of_somebody_else'
  card.formatted_account = '****-****-****-7777'
  assert.equal((await refresh(world, amex.id)).status, 'revoked')
})

test('a refresh adopts nothing that the person did not link', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { people } = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const [southern] = people.healthy.consents.splice(1)
  const [wattle] = await link(world, id, fiskil)
  assert.ok(southern !== undefined)
  people.healthy.consents.push(southern)
  await refresh(world, wattle?.id ?? '')
  assert.equal((await world.store.connections.list(id as UserId)).length, 1)
})

test('a disabled SnapTrade connection is invalidated, a deleted one revoked, a new account appears', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const person = need(world, 'snaptrade').people.healthy
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, snaptrade)
  const [broker, coins] = person.connections
  assert.ok(broker !== undefined && coins !== undefined)
  const rows = await world.store.connections.list(id as UserId)
  const ofBroker = only(rows, (one) => one.upstreamId === broker.id)
  const ofCoins = only(rows, (one) => one.upstreamId === coins.id)
  assert.equal(connections.length, 2)
  const before = (await accountsOf(world, id, ofBroker.id)).length
  const template = broker.accounts[0]
  assert.ok(template !== undefined)
  broker.accounts.push({ ...template, id: '0f0f0f0f-0000-4000-8000-000000000001', name: 'New' })
  broker.disabled = true
  person.connections = [broker]
  assert.equal((await refresh(world, ofBroker.id)).status, 'invalidated')
  assert.equal((await accountsOf(world, id, ofBroker.id)).length, before + 1)
  assert.equal((await world.store.connections.find(ofCoins.id))?.status, 'revoked')
})

test('an account that is missing for a while is hidden and gets its id back', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const [broker] = need(world, 'snaptrade').people.healthy.connections
  const id = await world.addUser('a@b.example')
  await link(world, id, snaptrade)
  const rows = await world.store.connections.list(id as UserId)
  const ours = only(rows, (one) => one.upstreamId === broker?.id)
  const before = await accountsOf(world, id, ours.id)
  const missing = broker?.accounts.splice(0, 1) ?? []
  await refresh(world, ours.id)
  assert.equal((await accountsOf(world, id, ours.id)).length, before.length - 1)
  broker?.accounts.push(...missing)
  await refresh(world, ours.id)
  const after = await accountsOf(world, id, ours.id)
  assert.deepEqual(new Set(after.map((one) => one.id)), new Set(before.map((one) => one.id)))
})

test('503: a provider that is down changes nothing', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const [connection] = await link(world, id, fiskil)
  need(world, 'fiskil').addFault({ does: { kind: 'reply', reply: { status: 502 } } })
  const answer = await world.ask('POST', `/admin/connections/${connection?.id}/refresh`)
  assert.equal(answer.status, 503)
  const row = await world.store.connections.find(connection?.id ?? ('' as ConnectionId))
  assert.equal(row?.status, 'active')
})

test('404: an unknown connection, an id that is none; 400: a body that is not empty', async (t) => {
  const world = await makeWorld(t)
  for (const id of ['7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10', 'nothing']) {
    const answers = [
      await world.ask('POST', `/admin/connections/${id}/refresh`),
      await world.ask('DELETE', `/admin/connections/${id}`),
    ]
    for (const answer of answers) {
      assert.equal(answer.status, 404)
      assert.equal(errorOf(answer).code, 'connection_not_found')
    }
  }
  const answer = await world.ask('POST', '/admin/connections/nothing/refresh', { force: true })
  assert.equal(answer.status, 404)
})

test('a refresh keeps what the provider omits at the moment: currencies, numbers, names, types, the bank', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const emulator = need(world, 'fiskil')
  const id = await world.addUser('a@b.example')
  const [wattle] = await link(world, id, fiskil)
  assert.ok(wattle !== undefined)
  const before = await accountsOf(world, id, wattle.id)
  const silent = {
    consents: { institution_name: null, institution_logo: null },
    accounts: {
      nickname: null,
      display_name: null,
      product_name: null,
      product_category: null,
      account_number: null,
      masked_number: null,
    },
  }
  emulator.addFault({
    when: ({ path }) => path === '/v1/consent' || path === '/v1/banking/accounts',
    does: {
      kind: 'edit',
      edit: (reply) => {
        const body = structuredClone(reply.body) as Record<string, unknown>
        for (const [key, fields] of Object.entries(silent)) {
          const rows = body[key]
          if (Array.isArray(rows)) body[key] = rows.map((row) => ({ ...row, ...fields }))
        }
        return { ...reply, body }
      },
    },
  })
  const balances = [{ balances: [], links: {} }, { message: 'no' }]
  for (const [index, body] of balances.entries()) {
    emulator.addFault({
      when: ({ path }) => path === '/v1/banking/balances',
      times: 1,
      does: { kind: 'reply', reply: { status: index === 0 ? 200 : 403, body } },
    })
    assert.deepEqual(await refresh(world, wattle.id), wattle)
    assert.deepEqual(await accountsOf(world, id, wattle.id), before)
  }
  const currencies = new Set(
    (await world.store.accounts.list(id as UserId)).map((one) => one.currency),
  )
  assert.deepEqual(currencies, new Set(['AUD', 'USD']))
})

test('R24b: SnapTrade and Akahu accounts keep their currency while no balance has one', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu', 'snaptrade'] })
  const id = await world.addUser('a@b.example')
  const rows = [...(await link(world, id, akahu)), ...(await link(world, id, snaptrade))]
  const before = await world.store.accounts.list(id as UserId)
  assert.ok(new Set(before.map((one) => one.currency)).size > 2)
  for (const account of need(world, 'akahu').people.healthy.accounts) account.balance = null
  for (const connection of need(world, 'snaptrade').people.healthy.connections) {
    for (const account of connection.accounts) Object.assign(account, { total: null, balances: [] })
  }
  for (const row of rows) await refresh(world, row.id)
  const byId = (list: typeof before) => list.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  assert.deepEqual(byId(await world.store.accounts.list(id as UserId)), byId(before))
})

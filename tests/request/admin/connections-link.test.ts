/** Linking: consents that exist at a provider become connections, against the emulators of all of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeConnections } from '#connections/connections.ts'
import { byOperator } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import {
  akahu,
  errorOf,
  fiskil,
  link,
  linked,
  listed,
  need,
  only,
  snaptrade,
} from './credentials.ts'
import { makeWorld } from './world.ts'

/** Stores that break off while accounts are written, and while the audit is, the last step of a link. */
function brokenStores(store: Store): Store[] {
  const breakOff = async () => assert.fail('the test breaks off')
  const breaks: ((tx: StoreRows) => StoreRows)[] = [
    (tx) => ({ ...tx, accounts: { ...tx.accounts, replace: breakOff } }),
    (tx) => ({ ...tx, audit: breakOff }),
  ]
  return breaks.map((broken) => ({
    ...store,
    transact: (work) => store.transact((tx) => work(broken(tx))),
  }))
}

const report = {
  deletion: () => assert.fail('no consent is ended here'),
  linking: () => undefined,
  failedLate: () => assert.fail('nothing is late here'),
  notListening: () => assert.fail('nothing is linked here'),
}

const accountsOf = async (world: Awaited<ReturnType<typeof makeWorld>>, userId: string) =>
  world.store.accounts.list(userId as UserId)

test('201: Fiskil consents become one connection per institution, with their accounts', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const connections = await link(world, id, fiskil)
  assert.deepEqual(connections.map((one) => [one.institutionId, one.institutionName]).sort(), [
    ['22', 'Wattle Bank'],
    ['41', 'Southern Cross Mutual'],
  ])
  for (const connection of connections) {
    assert.equal(connection.provider, 'fiskil')
    assert.equal(connection.category, 'banking')
    assert.equal(connection.status, 'active')
    assert.equal(connection.createdAt, '2026-11-20T03:15:00.000Z')
    assert.equal(connection.lastRefreshedAt, '2026-11-20T03:15:00.000Z')
  }
  const accounts = await accountsOf(world, id)
  assert.equal(accounts.length, 7)
  const travel = only(accounts, (account) => account.name === 'Travel Card USD')
  assert.equal(travel.currency, 'USD')
  assert.equal(travel.accountNumber, 'xxxx9023')
})

test('201: Akahu logins become one connection each, SnapTrade connections too', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu', 'snaptrade'] })
  const id = await world.addUser('a@b.example')
  const banks = await link(world, id, akahu)
  assert.deepEqual(banks.map((one) => one.institutionName).sort(), [
    'Airpoints',
    'American Express',
    'Kiwibank',
    'Sharesies',
  ])
  const brokers = await link(world, id, snaptrade)
  assert.equal(brokers.length, 2)
  assert.ok(brokers.every((one) => one.category === 'brokerage' && one.status === 'active'))
  const all = listed(await world.ask('GET', `/admin/users/${id}/connections`))
  assert.deepEqual(
    all.map((one) => one.id).sort(),
    [...banks, ...brokers].map((one) => one.id).sort(),
  )
})

test('R16b: listed connections of one moment are ordered by id, descending', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('a@b.example')
  await link(world, id, akahu)
  const ids = listed(await world.ask('GET', `/admin/users/${id}/connections`)).map((one) => one.id)
  assert.deepEqual(ids, [...ids].sort().reverse())
})

test('linking again updates and keeps every id of connections and accounts', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const first = await link(world, id, fiskil)
  const accounts = await accountsOf(world, id)
  world.clock.advance(3_600_000)
  const second = await link(world, id, fiskil)
  assert.deepEqual(
    second.map((one) => ({ ...one, lastRefreshedAt: null })),
    first.map((one) => ({ ...one, lastRefreshedAt: null })),
  )
  assert.equal(second[0]?.lastRefreshedAt, '2026-11-20T04:15:00.000Z')
  const again = await accountsOf(world, id)
  assert.deepEqual(new Set(again.map((one) => one.id)), new Set(accounts.map((one) => one.id)))
})

test('linking again makes a connection active that was invalidated meanwhile', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const emulator = need(world, 'snaptrade')
  const id = await world.addUser('a@b.example')
  const [first] = emulator.people.healthy.connections
  assert.ok(first !== undefined)
  first.disabled = true
  const broken = await link(world, id, snaptrade)
  assert.deepEqual(broken.map((one) => one.status).sort(), ['active', 'invalidated'])
  first.disabled = false
  const mended = await link(world, id, snaptrade)
  assert.deepEqual(
    mended.map((one) => one.status),
    ['active', 'active'],
  )
  assert.deepEqual(new Set(mended.map((one) => one.id)), new Set(broken.map((one) => one.id)))
})

test('linking again marks connections missing at the provider as revoked and returns the others', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const person = need(world, 'akahu').people.healthy
  const id = await world.addUser('a@b.example')
  await link(world, id, akahu)
  person.accounts = person.accounts.filter((one) => one.connection.name !== 'Airpoints')
  const there = await link(world, id, akahu)
  assert.ok(there.every((one) => one.institutionName !== 'Airpoints'))
  const all = listed(await world.ask('GET', `/admin/users/${id}/connections`))
  assert.equal(only(all, (one) => one.institutionName === 'Airpoints').status, 'revoked')
})

test('a new token of the same person replaces the old one and makes no second login', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('a@b.example')
  await link(world, id, akahu)
  need(world, 'akahu').people.healthy.userToken = 'user_token_new'
  const connections = await link(world, id, { ...akahu, userToken: 'user_token_new' })
  assert.equal(connections.length, 4)
  const logins = await world.store.logins.list(id as UserId)
  assert.deepEqual(
    logins.map((login) => login.secret),
    ['user_token_new'],
  )
})

test('an interrupted link stores nothing: no login, no connection, no account, no audit row', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = (await world.addUser('a@b.example')) as UserId
  for (const broken of brokenStores(world.store)) {
    const connections = makeConnections({ ...world, store: broken, timeoutMs: 5000, report })
    await assert.rejects(connections.linkConnections(byOperator, id, fiskil), /the test breaks off/)
    assert.deepEqual(await world.store.logins.listIds(id), [])
    assert.deepEqual(await world.store.connections.list(id), [])
    assert.deepEqual(await accountsOf(world, id), [])
    assert.equal((await world.store.users.findAccess(id))?.epoch, 0)
  }
  const entries = await world.store.auditLog.list({ userId: id, after: null, limit: 10 })
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['users.create'],
  )
})

test('a new token that is not saved to the end leaves the old one, its version and the epoch as they were', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = (await world.addUser('a@b.example')) as UserId
  await link(world, id, akahu)
  const [logins, access] = [
    await world.store.logins.list(id),
    await world.store.users.findAccess(id),
  ]
  need(world, 'akahu').people.healthy.userToken = 'user_token_new'
  const given = { ...akahu, userToken: 'user_token_new' }
  for (const broken of brokenStores(world.store)) {
    const connections = makeConnections({ ...world, store: broken, timeoutMs: 5000, report })
    await assert.rejects(connections.linkConnections(byOperator, id, given), /the test breaks off/)
    assert.deepEqual(await world.store.logins.list(id), logins)
    assert.deepEqual(await world.store.users.findAccess(id), access)
  }
})

test('a secret is not in the answers, not in the log and not in plain text on the disk', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu', 'snaptrade'] })
  const id = await world.addUser('a@b.example')
  const answers = [
    await world.ask('POST', `/admin/users/${id}/connections`, akahu),
    await world.ask('POST', `/admin/users/${id}/connections`, snaptrade),
    await world.ask('GET', `/admin/users/${id}/connections`),
  ]
  const seen = JSON.stringify(answers) + world.logged.join('\n')
  const disk = await world.readDisk()
  assert.ok(disk.includes(snaptrade.snaptradeUserId))
  for (const secret of [akahu.userToken, snaptrade.userSecret]) {
    assert.ok(!seen.includes(secret))
    assert.ok(!disk.includes(secret))
  }
})

test('400: credentials that do not work give the words of the provider, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil', 'akahu', 'snaptrade'] })
  const id = await world.addUser('a@b.example')
  const wrong = [
    { provider: 'fiskil', endUserId: 'eu_nobody' },
    { provider: 'akahu', userToken: 'user_token_wrong' },
    { ...snaptrade, userSecret: 'wrong' },
  ]
  for (const credentials of wrong) {
    const answer = await world.ask('POST', `/admin/users/${id}/connections`, credentials)
    assert.equal(answer.status, 400, credentials.provider)
    assert.equal(errorOf(answer).code, 'upstream_bad_request')
    assert.match(errorOf(answer).message, /^Upstream rejected request: ./)
  }
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('400: a person without any consent gets an error, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  need(world, 'fiskil').people.healthy.consents = []
  const answer = await world.ask('POST', `/admin/users/${id}/connections`, fiskil)
  assert.equal(answer.status, 400)
  assert.deepEqual(errorOf(answer), {
    message: 'Nothing to link: fiskil knows of no consent for these credentials',
    code: 'invalid_params',
    details: ['The person gives consent at the provider first; then link again.'],
  })
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('503: a provider that is down is the plain provider-unavailable, and nothing is stored', async (t) => {
  const world = await makeWorld(t, { providers: ['snaptrade'] })
  const id = await world.addUser('a@b.example')
  need(world, 'snaptrade').addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  const answer = await world.ask('POST', `/admin/users/${id}/connections`, snaptrade)
  assert.equal(answer.status, 503)
  assert.equal(answer.headers['retry-after'], '30')
  assert.equal(errorOf(answer).code, undefined)
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('503: a provider that never answers is abandoned after the time limit of one request', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'], timeoutMs: 200 })
  const id = await world.addUser('a@b.example')
  need(world, 'fiskil').addFault({ does: { kind: 'hang' } })
  const answer = await world.ask('POST', `/admin/users/${id}/connections`, fiskil)
  assert.equal(answer.status, 503)
})

test('503: refused credentials of the installation are reported with their variables, not as an unavailable provider', async (t) => {
  const providers = ['fiskil', 'akahu', 'snaptrade'] as const
  const world = await makeWorld(t, { providers, wrongOwnSecrets: true })
  const id = await world.addUser('a@b.example')
  for (const credentials of [fiskil, akahu, snaptrade]) {
    const { provider } = credentials
    const answer = await world.ask('POST', `/admin/users/${id}/connections`, credentials)
    assert.equal(answer.status, 503, provider)
    assert.equal(errorOf(answer).code, 'provider_refuses_us')
    assert.equal(answer.headers['retry-after'], undefined)
    const words = new RegExp(
      `^${provider} refuses this installation’s own credentials; correct ${provider.toUpperCase()}_\\w+`,
    )
    assert.match(errorOf(answer).message, words)
    assert.match(errorOf(answer).details?.[0] ?? '', new RegExp(`^${provider}: .`))
    assert.doesNotMatch(JSON.stringify(answer.body), /app_token_wrong|"wrong"/)
  }
  assert.deepEqual(await world.store.logins.list(id as UserId), [])
})

test('503: operators get the message of a provider that is unavailable', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = await world.addUser('a@b.example')
  const reply = { status: 502, body: { message: 'the gateway is being replaced' } }
  need(world, 'akahu').addFault({ does: { kind: 'reply', reply } })
  const answer = await world.ask('POST', `/admin/users/${id}/connections`, akahu)
  assert.deepEqual(errorOf(answer).details, ['akahu: the gateway is being replaced'])
})

test('503: a provider that is not configured is named', async (t) => {
  const world = await makeWorld(t)
  const id = await world.addUser('a@b.example')
  const answer = await world.ask('POST', `/admin/users/${id}/connections`, akahu)
  assert.equal(answer.status, 503)
  assert.match(errorOf(answer).message, /akahu is not configured.* AKAHU_APP_TOKEN/)
})

test('400: the fields of the provider are required, those of another are unknown', async (t) => {
  const world = await makeWorld(t)
  const id = await world.addUser('a@b.example')
  const cases: [object | undefined, RegExp][] = [
    [undefined, /provider: is required/],
    [{ provider: 'plaid' }, /provider: must be one of fiskil, akahu, snaptrade, up/],
    [{ provider: 'fiskil' }, /endUserId: is required/],
    [{ ...fiskil, userToken: 'x' }, /userToken: is an unknown field/],
    [{ provider: 'snaptrade', userToken: 'x' }, /userToken: is an unknown field/],
    [{ provider: 'akahu', userToken: 'two\r\nlines' }, /userToken: has blanks, line ends/],
    [{ provider: 'akahu', userToken: '' }, /userToken: is empty; copy it again/],
  ]
  for (const [body, expected] of cases) {
    const answer = await world.ask('POST', `/admin/users/${id}/connections`, body)
    assert.equal(answer.status, 400)
    assert.match((errorOf(answer).details ?? []).join('\n'), expected)
  }
})

test('two people may adopt the same consent, and neither sees the connections of the other', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const emma = await world.addUser('emma@b.example')
  const jack = await world.addUser('jack@b.example')
  const hers = await link(world, emma, fiskil)
  assert.deepEqual(listed(await world.ask('GET', `/admin/users/${jack}/connections`)), [])
  const his = await link(world, jack, fiskil)
  const ids = new Set([...hers, ...his].map((one) => one.id))
  assert.equal(ids.size, 4)
  assert.equal(listed(await world.ask('GET', `/admin/users/${emma}/connections`)).length, 2)
})

test('two links at the same time make each connection once', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const path = `/admin/users/${id}/connections`
  const [one, other] = await Promise.all([
    world.ask('POST', path, fiskil),
    world.ask('POST', path, fiskil),
  ])
  assert.deepEqual(linked(one), linked(other))
  assert.equal(listed(await world.ask('GET', path)).length, 2)
})

test('a provider that cannot be asked for webhooks costs the link nothing, and is reported', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const id = (await world.addUser('a@b.example')) as UserId
  need(world, 'akahu').addFault({
    when: ({ path }) => path === '/v1/webhooks',
    does: { kind: 'reply', reply: { status: 500, body: {} } },
  })
  assert.equal((await link(world, id, akahu)).length, 4)
  assert.deepEqual(world.unheard, ['akahu'])
})

test('names of a provider are stored without control characters, which PostgreSQL does not take', async (t) => {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const id = await world.addUser('a@b.example')
  const account = need(world, 'fiskil').people.healthy.consents[0]?.accounts[0]
  assert.ok(account !== undefined)
  account.body.nickname = 'Every\u0000day\u0007 \ud800'
  account.body.display_name = account.body.nickname
  await link(world, id, fiskil)
  const names = (await accountsOf(world, id)).map(({ name }) => name)
  assert.ok(names.includes('Every day  \ufffd'), names.join(', '))
})

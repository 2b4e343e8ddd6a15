/**
 * Identify, discover, revoke and the check of empty answers, over HTTP against the emulator.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upstreamId } from '#kernel/ids.ts'
import { makeAccount } from '#sandbox/snaptrade/index.ts'
import { aim, call, connectionRef, failureOf, loginOf, now, startHarness } from './harness.ts'

test('valid and invalid credentials are distinguished', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { userId, userSecret } = emulator.people.healthy
  const identify = (snaptradeUserId: string, secret: string) =>
    adapter.identify({ provider: 'snaptrade', snaptradeUserId, userSecret: secret }, call())
  assert.deepEqual(await identify(userId, userSecret), {
    upstreamUserId: userId,
    secret: userSecret,
    isPersonal: false,
  })
  const wrong = await failureOf(identify(userId, 'no'))
  assert.deepEqual(
    [wrong.kind, wrong.detail],
    ['rejected', 'Invalid userID or userSecret provided'],
  )
  assert.equal((await failureOf(identify('', userSecret))).kind, 'rejected')
  const foreign = adapter.identify({ provider: 'fiskil', endUserId: 'x' }, call())
  assert.equal((await failureOf(foreign)).kind, 'rejected')
})

test('every connection is found with its accounts, masked, typed and in a currency', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const found = await adapter.discover(loginOf(emulator.people.healthy), call())
  assert.deepEqual(
    found.map(({ institutionName, status }) => [institutionName, status]),
    [
      ['Interactive Brokers', 'active'],
      ['Coinbase', 'active'],
    ],
  )
  const [broker, coins] = found
  assert.equal(broker?.lastRefreshedAt, '2026-11-20T02:15:00.561Z')
  assert.match(broker?.institutionId ?? '', /^[0-9a-f-]{36}$/)
  assert.match(broker?.institutionLogo ?? '', /-square\.png$/)
  const shown = broker?.accounts?.map(({ name, type, accountNumber, currency }) => [
    name,
    type,
    accountNumber,
    currency,
  ])
  assert.deepEqual(shown, [
    ['Individual Margin', 'investment', 'xxxx8443', 'USD'],
    ['Interactive Brokers xxxx7781', 'investment', 'xxxx7781', 'AUD'],
    ['Cash Savings', 'savings', 'xxxx4219', 'USD'],
  ])
  assert.deepEqual(
    coins?.accounts?.map(({ accountNumber, currency }) => [accountNumber, currency]),
    [[null, 'AUD']],
  )
  assert.ok(!JSON.stringify(found).includes('U6542138443'))
})

test('R24b: an account that holds no currency, or whose balances are refused, has a null currency', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { connection } = aim(emulator.people.history)
  const world = { seed: 'x', nowMs: now }
  connection.accounts = [
    makeAccount('blank', world, { number: '11112222', total: null, balances: [] }),
    makeAccount('busy', world, { number: '33334444', total: null, refuses: 'populating' }),
  ]
  const [found] = await adapter.discover(loginOf(emulator.people.history), call())
  assert.deepEqual(
    found?.accounts?.map(({ currency }) => currency),
    [null, null],
  )
  const broken = connection.accounts[1]
  if (broken !== undefined) broken.refuses = 'unsupported'
  const [again] = await adapter.discover(loginOf(emulator.people.history), call())
  assert.equal(again?.accounts?.[1]?.currency, null)
})

test('a disabled connection is invalidated, a user without connections has none', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const person = emulator.people.history
  const { connection } = aim(person)
  connection.disabled = true
  const [found] = await adapter.discover(loginOf(person), call())
  assert.deepEqual([found?.status, found?.accounts?.length], ['invalidated', 1])
  connection.accounts = []
  assert.equal((await adapter.discover(loginOf(person), call()))[0]?.accounts, null)
  person.connections = []
  assert.deepEqual(await adapter.discover(loginOf(person), call()), [])
})

test('R20: a secret that works no more loses every connection of the login; a login without one is of a personal key that is not set', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const login = loginOf(emulator.people.healthy)
  const lost = { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true }
  emulator.people.healthy.userSecret = 'rotated'
  const failure = await failureOf(adapter.discover(login, call()))
  assert.deepEqual({ ...failure, detail: '' }, { ...lost, detail: '' })
  const none = await failureOf(adapter.discover({ ...login, secret: null }, call()))
  assert.deepEqual({ ...none, detail: '' }, { kind: 'misconfigured', status: 401, detail: '' })
})

test('revoking deletes the connection, keeps the user, and may be repeated', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const person = emulator.people.healthy
  const login = loginOf(person)
  const { connection, ref } = aim(person)
  for (const last of [false, true, true]) {
    await adapter.revoke(login, ref, { last, isAsked: false }, call())
    assert.ok(!person.connections.includes(connection))
  }
  assert.equal(person.connections.length, 1)
  assert.equal(emulator.requests.filter(({ method }) => method === 'DELETE').length, 3)
  assert.ok(emulator.requests.every(({ path }) => !path.includes('deleteUser')))
})

test('a revocation that is answered 202 or 204 is done too', async () => {
  await using harness = await startHarness()
  const { login, ref } = aim(harness.emulator.people.healthy)
  for (const status of [202, 204]) {
    harness.emulator.addFault({ times: 1, does: { kind: 'reply', reply: { status } } })
    await harness.adapter.revoke(login, ref, { last: true, isAsked: false }, call())
  }
  assert.deepEqual(
    harness.emulator.requests.map(({ method }) => method),
    ['DELETE', 'DELETE'],
  )
})

test('checking an empty answer needs no other paths than discovery does', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { login, ref, reference } = aim(emulator.people.healthy)
  emulator.addFault({
    when: ({ path }) => /^.(accounts|authorizations).[^/]+(.accounts)?$/.test(path),
    does: { kind: 'reply', reply: { status: 404, body: { detail: 'no such path' } } },
  })
  await adapter.confirmEmpty(login, ref, call())
  for (const what of ['holdings', 'transactions'] as const) {
    await adapter.confirmEmpty(login, ref, call(), {
      what,
      accounts: [reference],
      among: [reference],
    })
  }
})

test('a failed revocation is not taken for a done one', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { login, ref, connection } = aim(emulator.people.healthy)
  emulator.addFault({ does: { kind: 'reply', reply: { status: 500, body: {} } } })
  const failure = await failureOf(
    adapter.revoke(login, ref, { last: true, isAsked: false }, call()),
  )
  assert.equal(failure.kind, 'unavailable')
  assert.ok(emulator.people.healthy.connections.includes(connection))
})

test('R20b: an empty answer is trusted only while the connection is active', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { login, ref, connection } = aim(emulator.people.healthy)
  const confirm = () => adapter.confirmEmpty(login, ref, call())
  await confirm()
  connection.disabled = true
  const disabled = await failureOf(confirm())
  assert.equal(disabled.kind === 'consent_lost' && disabled.becomes, 'invalidated')
  assert.equal(disabled.detail, 'login disabled, reconnect')
  emulator.people.healthy.connections = []
  const gone = await failureOf(confirm())
  assert.equal(gone.kind === 'consent_lost' && gone.becomes, 'revoked')
  assert.equal(gone.detail, 'consent withdrawn, reconnect')
})

test('a connection is doubted only while nothing of it is synced at all', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { login, ref, connection, account } = aim(emulator.people.healthy)
  const confirm = () => adapter.confirmEmpty(login, ref, call())
  for (const other of connection.accounts) {
    other.holdingsSynced = false
    other.transactionsSynced = false
  }
  assert.equal((await failureOf(confirm())).kind, 'preparing')
  account.holdingsSynced = true
  await confirm()
  account.holdingsSynced = false
  account.transactionsSynced = true
  await confirm()
  // One that was closed before its first sync has nothing to wait for.
  account.transactionsSynced = false
  connection.accounts = [account]
  account.status = 'closed'
  await confirm()
})

test('R20b: accounts answer for their own emptiness, kind by kind', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { connection, account, login, ref, reference } = aim(emulator.people.healthy)
  const confirm = (what: 'holdings' | 'transactions') =>
    adapter.confirmEmpty(login, ref, call(), { what, accounts: [reference], among: [reference] })
  for (const other of connection.accounts.slice(1)) {
    other.holdingsSynced = false
    other.transactionsSynced = false
  }
  account.transactionsSynced = false
  await confirm('holdings')
  assert.equal((await failureOf(confirm('transactions'))).kind, 'preparing')
  account.transactionsSynced = true
  account.holdingsSynced = false
  assert.equal((await failureOf(confirm('holdings'))).kind, 'preparing')
  await confirm('transactions')
  // One that was closed before its first sync has nothing to wait for.
  account.status = 'closed'
  await confirm('holdings')
})

test('a connection that SnapTrade never knew is revoked, whatever its id looks like', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { login, connection } = aim(emulator.people.healthy)
  const ref = { ...connectionRef(connection), upstreamId: upstreamId('../accounts?x=') }
  const failure = await failureOf(adapter.confirmEmpty(login, ref, call()))
  assert.equal(failure.kind === 'consent_lost' && failure.becomes, 'revoked')
})

test('ending a login deletes the user by the commercial key alone, and may be repeated', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const { userId } = emulator.people.history
  const login = loginOf(emulator.people.history)
  for (const _ of [1, 2]) await adapter.endLogin?.(login, call())
  assert.ok(!Object.values(emulator.people).some((person) => person.userId === userId))
  const asked = emulator.requests.map(({ method, path, query }) => [
    method,
    path,
    [...query.keys()],
  ])
  const once = ['DELETE', '/snapTrade/deleteUser', ['clientId', 'timestamp', 'userId']]
  assert.deepEqual(asked, [once, once])
  emulator.addFault({ does: { kind: 'reply', reply: { status: 500, body: {} } } })
  assert.equal((await failureOf(adapter.endLogin?.(login, call()) ?? never)).kind, 'unavailable')
})

test('no user is ever deleted for a personal key', async () => {
  await using harness = await startHarness()
  await harness.adapter.endLogin?.(loginOf(harness.emulator.people.personal), call())
  assert.deepEqual(harness.emulator.requests, [])
})

const never = Promise.resolve()

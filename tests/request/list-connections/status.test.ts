/**
 * R20b: how the status of a connection follows what live reads show about its consent, in both directions.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type Connections, makeConnections } from '#connections/connections.ts'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import { makeAdapters } from '#providers/adapters.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { openReadings } from '#tests/support/readings.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'

const service = await startService()
after(() => service.close())
beforeEach(() => {
  const { fiskil, akahu, snaptrade } = service.sandbox
  for (const emulator of [fiskil, akahu, snaptrade]) {
    emulator.clearFaults()
    emulator.latencyMs = 0
    emulator.faultControls.reset()
  }
  service.clock.advance(3_600_000)
})

/** A user of their own with one person's connections at one provider. */
async function linked(person: 'healthy' | 'history', provider: 'fiskil' | 'akahu' | 'snaptrade') {
  const user = await service.createUser()
  const rows = await service.link(user, person, provider)
  const accounts = await service.accounts(user)
  const row = rows.find(({ id }) => accounts.some(({ connectionId }) => connectionId === id))
  assert(row !== undefined)
  const account = accounts.find(({ connectionId }) => connectionId === row.id)
  assert(account !== undefined)
  const paths = {
    transactions: `/v1/transactions?connectionId=${row.id}&accountId=${account.id}`,
    balances: `/v1/balances?accountIds=${account.id}`,
    holdings: `/v1/holdings?connectionId=${row.id}`,
    trades: `/v1/trades?connectionId=${row.id}`,
  }
  return { user, row, account, paths }
}

const mark = ({ id }: ConnectionRow, status: ConnectionStatus) =>
  service.app.store.connections.setStatus(id, status)
const statusOf = async ({ id }: ConnectionRow) =>
  (await service.app.store.connections.find(id))?.status

/** As the API shows it, which keeps its answer for a minute. */
async function shown(user: ServiceUser, { id }: ConnectionRow): Promise<string> {
  const { body } = await service.get('/v1/connections', user)
  return body.data.find((one: { id: string }) => one.id === id).status
}

for (const status of ['invalidated', 'pending_mfa'] as const) {
  for (const kind of ['transactions', 'balances'] as const) {
    test(`R20b: ${kind} of a Fiskil consent that lives make a connection that was ${status} active at once`, async () => {
      const { user, row, paths } = await linked('healthy', 'fiskil')
      await mark(row, status)
      assert.equal(await shown(user, row), status)
      assert.equal((await service.get(paths[kind], user)).status, 200)
      // Not the answer of a moment ago: the epoch has grown (reading R10).
      assert.equal(await shown(user, row), 'active')
    })
  }
}

test('R20b: an empty answer that the provider confirms makes the connection active, an unconfirmed one leaves the status', async () => {
  const { user, row, paths } = await linked('healthy', 'fiskil')
  const empty = `${paths.transactions}&from=2020-01-01&to=2020-01-02`
  await mark(row, 'invalidated')
  assert.deepEqual((await service.get(empty, user)).body.data, [])
  assert.equal(await statusOf(row), 'active')
  service.sandbox.fiskil.faultControls.consent.expire('healthy')
  assert.equal((await service.get(paths.transactions, user)).status, 400)
  assert.equal(await statusOf(row), 'invalidated')
})

test('R20b: a withdrawn consent is not brought back by a read, nor a connection that is being deleted', async () => {
  const { user, row, paths } = await linked('healthy', 'fiskil')
  for (const status of ['revoked', 'deleting'] as const) {
    await service.app.store.connections.setStatus(row.id, status)
    await service.get(paths.balances, user)
    await service.get(paths.transactions, user)
    assert.equal(await statusOf(row), status)
  }
})

test('R20b: old rows of an INACTIVE Akahu login prove nothing; once repaired there, the next read finds it active', async () => {
  const { user, row, account, paths } = await linked('history', 'akahu')
  const upstream = service.sandbox.akahu.people.history.accounts
  for (const one of upstream) one.status = 'INACTIVE'
  assert.equal((await service.get(paths.balances, user)).body.data[0].currentBalance, null)
  assert.equal(await statusOf(row), 'invalidated', 'the list of accounts says so by the way')
  assert((await service.get(paths.transactions, user)).body.data.length > 0)
  assert.equal(await statusOf(row), 'invalidated')
  for (const one of upstream) one.status = 'ACTIVE'
  const other = `/v1/transactions?connectionId=${row.id}&accountId=${account.id}&from=2026-11-01`
  service.clock.advance(60_000)
  await service.get(other, user)
  assert.equal(await statusOf(row), 'active')
  await mark(row, 'pending_mfa')
  await service.get(paths.balances, user)
  assert.equal(await statusOf(row), 'active')
})

test('R20b: SnapTrade is asked whether a login is disabled, at most once a minute, and its answer decides', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ positions: [position()] }])
  const row = broker.connection
  const [upstream] = broker.person.connections
  assert(upstream !== undefined)
  const asked = () =>
    service.sandbox.snaptrade.requests.filter(({ path }) => path.endsWith('/authorizations')).length
  upstream.disabled = true
  await mark(row, 'invalidated')
  const holdings = `/v1/holdings?connectionId=${row.id}`
  const before = asked()
  for (let read = 0; read < 5; read += 1) {
    const answer = await service.get(`${holdings}&n=${read}`, user)
    assert.equal(answer.body.data.length, 1)
  }
  assert.equal(asked(), before + 1)
  assert.equal(await statusOf(row), 'invalidated')
  upstream.disabled = false
  await service.get(`${holdings}&n=6`, user)
  assert.equal(await statusOf(row), 'invalidated', 'not asked again within the minute')
  service.clock.advance(60_000)
  await service.get(`${holdings}&n=7`, user)
  assert.equal(asked(), before + 2)
  assert.equal(await statusOf(row), 'active')
})

test('R20b: when the check of a consent fails, the rows are still returned and the failure is reported', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ positions: [position()] }])
  await mark(broker.connection, 'invalidated')
  service.sandbox.snaptrade.addFault({
    when: ({ path }) => path.endsWith('/authorizations'),
    does: { kind: 'reply', reply: { status: 500, body: {} } },
  })
  const answer = await service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user)
  assert.equal(answer.body.data.length, 1)
  assert.equal(await statusOf(broker.connection), 'invalidated')
  assert.ok(service.logLines.some((line) => line.includes('"task":"consent-news"')))
  assert.match(
    await service.metrics.text(),
    /tributary_background_failures_total\{[^}]*consent-news[^}]*\} [1-9]/,
  )
})

test('R20b: balances of a lost Fiskil consent are nulls that are not cached, and the status changes', async () => {
  const cases = [
    ['expire', 'invalidated'],
    ['revoke', 'revoked'],
  ] as const
  for (const [change, becomes] of cases) {
    const { user, row, account, paths } = await linked('healthy', 'fiskil')
    service.sandbox.fiskil.faultControls.consent[change]('healthy')
    for (let read = 0; read < 2; read += 1) {
      const answer = await service.get(paths.balances, user)
      assert.equal(answer.headers['x-cache'], 'MISS')
      assert.deepEqual(answer.body.data, [
        { accountId: account.id, currentBalance: null, availableBalance: null, currency: null },
      ])
    }
    assert.equal(await shown(user, row), becomes)
    service.sandbox.fiskil.faultControls.consent.renew('healthy')
  }
})

for (const status of [403, 404]) {
  test(`R20b: a ${status} on balances is checked against the consent, and changes nothing for an active one`, async () => {
    const { user, row, paths } = await linked('healthy', 'fiskil')
    service.sandbox.fiskil.addFault({
      when: ({ path }) => path.endsWith('/balances'),
      does: { kind: 'reply', reply: { status, body: {} } },
    })
    assert.equal((await service.get(paths.balances, user)).body.data[0].currency, null)
    assert.equal(await statusOf(row), 'active')
    service.sandbox.fiskil.faultControls.consent.revoke('healthy')
    assert.equal((await service.get(paths.balances, user)).body.data[0].currency, null)
    assert.equal(await statusOf(row), 'revoked')
  })
}

/** The connections room of another process on the same store. */
async function withSecondProcess(work: (connections: Connections) => Promise<void>): Promise<void> {
  const nothing = () => undefined
  const adapters = makeAdapters({
    access: service.sandbox.access,
    timeoutMs: 10_000,
    clock: service.clock,
    report: { exchange: nothing, alert: nothing, oddity: nothing },
    budget: () => async () => ({ allowed: true }),
    readings: openReadings(service.clock),
  })
  const report = { deletion: nothing, linking: nothing, notListening: nothing, failedLate: nothing }
  const { store, kv } = service.app
  const { clock } = service
  try {
    await work(
      makeConnections({
        store,
        adapters,
        clock,
        windows: kv.windows,
        timeoutMs: 10_000,
        report,
      }),
    )
  } finally {
    await Promise.all(Object.values(adapters).map((adapter) => adapter.close()))
  }
}

/** Begins `old`, relinks with new credentials while it is on its way, and waits for it. */
async function overtake(
  emulator: Service['sandbox']['akahu'] | Service['sandbox']['snaptrade'],
  old: () => Promise<unknown>,
  relink: () => Promise<unknown>,
): Promise<void> {
  const before = emulator.requests.length
  emulator.latencyMs = 1500
  let late = false
  const running = old().finally(() => {
    late = true
  })
  await until('the provider is asked', () => emulator.requests.length > before, 5)
  emulator.latencyMs = 0
  await relink()
  assert.equal(late, false, 'the old answer comes last')
  await running
}

test('R20b: a late 401 under the old Akahu token changes nothing after a relink, by read, balances or refresh', async () => {
  const { user, row, paths } = await linked('healthy', 'akahu')
  const { akahu } = service.sandbox
  let token = 0
  const relink = () => {
    const userToken = `user_token_renewed_${token}`
    return service.app.connections.linkConnections(byOperator, user.id, {
      provider: 'akahu',
      userToken,
    })
  }
  await withSecondProcess(async (second) => {
    const works = [
      async () => assert.equal((await service.get(paths.transactions, user)).status, 400),
      () => service.get(paths.balances, user),
      () => second.refreshConnection(byOperator, row.id, { priority: 'user' }),
    ]
    for (const work of works) {
      token += 1
      service.clock.advance(3_600_000)
      akahu.people.healthy.userToken = `user_token_renewed_${token}`
      await overtake(akahu, work, relink)
      const rows = await service.app.store.connections.list(user.id)
      assert.deepEqual(new Set(rows.map(({ status }) => status)), new Set(['active']))
    }
  })
})

test('R20b: a list of accounts under the old token revokes nothing after a relink', async () => {
  const { user, row } = await linked('healthy', 'akahu')
  const { akahu } = service.sandbox
  await withSecondProcess(async (second) => {
    const { accounts } = akahu.people.healthy
    akahu.addFault({
      when: ({ path }) => path.endsWith('/accounts'),
      times: 1,
      does: { kind: 'reply', reply: { status: 200, body: { success: true, items: [] } } },
    })
    await overtake(
      akahu,
      () => second.refreshConnection(byOperator, row.id, { priority: 'user' }),
      () => service.link(user, 'healthy', 'akahu'),
    )
    assert.ok(accounts.length > 0)
    assert.equal(await statusOf(row), 'active')
  })
})

test('R20b: a late refusal of the old SnapTrade secret changes nothing after a relink', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ positions: [position()] }])
  broker.person.userSecret = 'a-new-secret'
  await overtake(
    service.sandbox.snaptrade,
    () => service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user),
    () =>
      service.app.connections.linkConnections(byOperator, user.id, {
        provider: 'snaptrade',
        snaptradeUserId: broker.person.userId,
        userSecret: 'a-new-secret',
      }),
  )
  assert.equal(await statusOf(broker.connection), 'active')
})

test('R10: linking again with the same ids purges what was cached, though nothing differs', async () => {
  const { user, paths } = await linked('healthy', 'fiskil')
  await service.get(paths.transactions, user)
  assert.equal((await service.get(paths.transactions, user)).headers['x-cache'], 'HIT')
  await service.link(user, 'healthy', 'fiskil')
  assert.equal((await service.get(paths.transactions, user)).headers['x-cache'], 'MISS')
})

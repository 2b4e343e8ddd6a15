import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { plantBank } from '#tests/support/bank.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/

test('R1: a person linked at every provider sees every connection with every field', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy')
  const answer = await service.get('/v1/connections', user)
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.body), ['data'])
  const providers = new Set(answer.body.data.map((row: { provider: string }) => row.provider))
  assert.deepEqual([...providers].sort(), [
    'akahu',
    'enablebanking',
    'fiskil',
    'simplefin',
    'snaptrade',
    'up',
  ])
  for (const row of answer.body.data) {
    assert.deepEqual(Object.keys(row).sort(), [
      'category',
      'createdAt',
      'id',
      'institutionId',
      'institutionLogo',
      'institutionName',
      'lastRefreshedAt',
      'provider',
      'status',
    ])
    assert.equal(row.category, row.provider === 'snaptrade' ? 'brokerage' : 'banking')
    assert.equal(row.status, 'active')
    assert.match(row.createdAt, iso)
    assert(row.lastRefreshedAt === null || iso.test(row.lastRefreshedAt))
  }
  const byName = new Map<string, { institutionId: string; institutionLogo: string | null }>(
    answer.body.data.map((row: { institutionName: string }) => [row.institutionName, row]),
  )
  assert.equal(byName.get('Wattle Bank')?.institutionId, '22')
  assert.match(byName.get('Kiwibank')?.institutionId ?? '', /^conn_/)
  assert.match(byName.get('Coinbase')?.institutionId ?? '', /^[0-9a-f-]{36}$/)
})

test('a user without any connection gets an empty list, not an error', async () => {
  const user = await service.createUser()
  const answer = await service.get('/v1/connections', user)
  assert.deepEqual(answer.body, { data: [] })
})

test('newest first, and R16b: equal createdAt by id, descending', async () => {
  const user = await service.createUser()
  const now = service.clock.now()
  const created: { id: string; at: number }[] = []
  for (const at of [now - 5000, now - 1000, now - 5000, now - 9000, now - 5000, now - 1000]) {
    const { connection } = await plantBank(service, user, { createdAt: at })
    created.push({ id: connection.id, at })
  }
  const expected = created
    .toSorted((left, right) => right.at - left.at || (left.id < right.id ? 1 : -1))
    .map((row) => row.id)
  const answer = await service.get('/v1/connections', user)
  assert.deepEqual(
    answer.body.data.map((row: { id: string }) => row.id),
    expected,
  )
})

test('every public status is shown as it is', async () => {
  const user = await service.createUser()
  for (const status of ['active', 'invalidated', 'pending_mfa', 'revoked'] as const) {
    await plantBank(service, user, { status })
  }
  const answer = await service.get('/v1/connections', user)
  assert.deepEqual(answer.body.data.map((row: { status: string }) => row.status).sort(), [
    'active',
    'invalidated',
    'pending_mfa',
    'revoked',
  ])
})

test('R10: a connection that is being deleted is not found anywhere, also not in cached answers', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ positions: [position()] }])
  const bank = await plantBank(service, user, { accounts: [{ name: 'Planted' }] })
  const account = bank.accounts[0]
  assert(account !== undefined)
  const paths = [
    '/v1/connections',
    '/v1/accounts',
    `/v1/holdings?connectionId=${broker.connection.id}`,
    `/v1/trades?connectionId=${broker.connection.id}`,
  ]
  for (const path of paths) assert.equal((await service.get(path, user)).status, 200)
  for (const path of paths) {
    assert.equal((await service.get(path, user)).headers['x-cache'], 'HIT', path)
  }
  await service.app.store.connections.setStatus(broker.connection.id, 'deleting')
  await service.app.store.connections.setStatus(bank.connection.id, 'deleting')

  assert.deepEqual((await service.get('/v1/connections', user)).body, { data: [] })
  const accounts = await service.get('/v1/accounts', user)
  assert.deepEqual(accounts.body.data, [])
  assert.equal(accounts.body.pagination.total, 0)
  for (const path of [
    `/v1/holdings?connectionId=${broker.connection.id}`,
    `/v1/trades?connectionId=${broker.connection.id}`,
    `/v1/transactions?connectionId=${bank.connection.id}&accountId=${account.id}`,
  ]) {
    const answer = await service.get(path, user)
    assert.equal(answer.status, 404, path)
    assert.equal(codeOf(answer), 'connection_not_found', path)
  }
  const balances = await service.get(`/v1/balances?accountIds=${account.id}`, user)
  assert.equal(balances.status, 404)
  assert.equal(codeOf(balances), undefined)
})

test('R20, R20b: a broken SnapTrade connection turns invalidated when its user is refused', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{}])
  const connection = broker.person.connections[0]
  assert(connection !== undefined)
  connection.disabled = true
  const answer = await service.get(`/v1/trades?connectionId=${broker.connection.id}`, user)
  assert.equal(answer.status, 400)
  const [row] = (await service.get('/v1/connections', user)).body.data
  assert.equal(row.status, 'invalidated')
})

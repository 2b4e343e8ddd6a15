import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { callTool } from '#tests/support/agent.ts'
import { plantBank } from '#tests/support/bank.ts'
import { linkBroker } from '#tests/support/broker.ts'
import { type ServiceUser, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

interface Row {
  readonly id: string
  readonly name: string
}

async function plantNames(names: readonly string[]): Promise<ServiceUser> {
  const user = await service.createUser()
  await plantBank(service, user, { accounts: names.map((name) => ({ name })) })
  return user
}

test('every account of every provider with every field, numbers masked', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy')
  const { body } = await service.get('/v1/accounts', user)
  const connections = new Map<string, { provider: string; institutionName: string }>(
    (await service.get('/v1/connections', user)).body.data.map((row: { id: string }) => [
      row.id,
      row,
    ]),
  )
  assert.equal(body.pagination.total, body.data.length)
  assert(body.data.length > 15)
  for (const row of body.data) {
    assert.deepEqual(Object.keys(row).sort(), [
      'accountNumber',
      'connectionId',
      'currency',
      'id',
      'institutionName',
      'name',
      'provider',
      'type',
    ])
    assert.equal(row.provider, connections.get(row.connectionId)?.provider)
    assert.equal(row.institutionName, connections.get(row.connectionId)?.institutionName)
    assert(row.accountNumber === null || /^xxxx[0-9A-Za-z]{4}$/.test(row.accountNumber))
  }
  const card = body.data.find((row: Row) => row.name === 'Platinum Edge')
  assert.equal(card.type, 'credit-card')
  assert.equal(card.accountNumber, 'xxxx0194')
  const travel = body.data.find((row: Row) => row.name === 'Travel Card USD')
  assert.equal(travel.currency, 'USD')
  const deposit = body.data.find((row: Row) => row.name === '12 Month Term Deposit')
  assert.equal(deposit.type, 'term-deposit')
})

test('a whole account number is never returned, not even inside a name', async () => {
  const user = await service.createUser()
  const number = 'U99887766554'
  await linkBroker(service, user, [{ number, name: `Margin ${number}` }])
  const { text, body } = await service.get('/v1/accounts', user)
  assert.equal(body.data[0].accountNumber, 'xxxx6554')
  assert(!text.includes(number))
})

test('numbers in names stored by older versions are masked when they are read, on every row and for agents too', async () => {
  const user = await service.createUser()
  const bank = await plantBank(service, user, {
    institutionName: 'Bank of 062-000 12345678',
    accounts: [{ name: 'Everyday 062-000 12345678' }, { name: 'Savings 2024' }],
  })
  const connections = await service.get('/v1/connections', user)
  assert.equal(connections.body.data[0].institutionName, 'Bank of xxxx5678')
  const tool = await callTool(service, user, 'list_accounts', {})
  for (const { data } of [
    (await service.get('/v1/accounts', user)).body,
    tool.result.structuredContent,
  ]) {
    assert.deepEqual(
      data.map((row: { name: string; institutionName: string }) => [row.name, row.institutionName]),
      [
        ['Everyday xxxx5678', 'Bank of xxxx5678'],
        ['Savings 2024', 'Bank of xxxx5678'],
      ],
    )
  }
  assert.deepEqual(bank.accounts.map(({ name }) => name).sort(), [
    'Everyday xxxx5678',
    'Savings 2024',
  ])
})

test('a number of an account is masked in its name before it is stored, and on its rows', async () => {
  const user = await service.createUser()
  const people = service.sandbox.fiskil.people.healthy
  const account = people.consents[0]?.accounts[0]
  assert(account !== undefined)
  account.body.nickname = 'Rent BSB 082 902, no. 10348821'
  account.body.account_number = '10348821'
  account.body.bsb = '082-902'
  await service.link(user, 'healthy', 'fiskil')
  const [row] = (await service.accounts(user)).filter(({ name }) => name.startsWith('Rent'))
  assert(row !== undefined)
  assert.equal(row.name, 'Rent BSB xxxx, no. xxxx8821')
  const path = `/v1/transactions?connectionId=${row.connectionId}&accountId=${row.id}&limit=1`
  const { body } = await service.get(path, user)
  assert.equal(body.data[0].accountName, row.name)
})

test('R16b: names are ordered as the root collation orders them, not by code points', async () => {
  // Case, accents, digits, blanks, signs, other scripts and equal keys: typed in the order that is due.
  const ordered = [
    '',
    ' leading blank',
    '_underscore',
    '-dash',
    '$dollars',
    '10 dollars',
    '2 dollars',
    'a',
    'A',
    'ä',
    'Ä',
    'aa',
    'account',
    'Äpfel',
    'B',
    'cote',
    'coté',
    'côte',
    'côté',
    'e',
    'é',
    'Zebra',
    'Ωmega',
    'яблоко',
    '日本',
  ]
  const shuffled = ordered.toSorted((left, right) => (left < right ? 1 : -1))
  const user = await plantNames(shuffled)
  const { body } = await service.get('/v1/accounts', user)
  assert.deepEqual(
    body.data.map((row: Row) => row.name),
    ordered,
  )
})

test('R16b: equal names are ordered by id, so that pages never overlap', async () => {
  const user = await plantNames(Array.from({ length: 25 }, () => 'Savings'))
  const whole = (await service.get('/v1/accounts', user)).body.data.map((row: Row) => row.id)
  assert.deepEqual(whole, whole.toSorted())
  const pages: string[] = []
  for (let offset = 0; offset < 25; offset += 4) {
    const { body } = await service.get(`/v1/accounts?limit=4&offset=${offset}`, user)
    pages.push(...body.data.map((row: Row) => row.id))
  }
  assert.deepEqual(pages, whole)
})

test('the default page has 50 rows, the total counts all of them', async () => {
  const user = await plantNames(Array.from({ length: 207 }, (_, index) => `Account ${index}`))
  const first = (await service.get('/v1/accounts', user)).body
  assert.equal(first.data.length, 50)
  assert.deepEqual(first.pagination, { total: 207, limit: 50, offset: 0, hasMore: true })

  const clamped = (await service.get('/v1/accounts?limit=100000000000000000000', user)).body
  assert.equal(clamped.data.length, 200)
  assert.deepEqual(clamped.pagination, { total: 207, limit: 200, offset: 0, hasMore: true })

  const last = (await service.get('/v1/accounts?limit=200&offset=200', user)).body
  assert.equal(last.data.length, 7)
  assert.deepEqual(last.pagination, { total: 207, limit: 200, offset: 200, hasMore: false })

  const exact = (await service.get('/v1/accounts?limit=7&offset=200', user)).body
  assert.deepEqual(exact.pagination, { total: 207, limit: 7, offset: 200, hasMore: false })

  const beyond = (await service.get('/v1/accounts?offset=2147483647', user)).body
  assert.deepEqual(beyond.data, [])
  assert.deepEqual(beyond.pagination, { total: 207, limit: 50, offset: 2147483647, hasMore: false })
})

test('R8: cached for 60 seconds, the key is the sorted query string', async () => {
  const user = await plantNames(['One', 'Two'])
  const cacheOf = async (path: string) => (await service.get(path, user)).headers['x-cache']
  assert.equal(await cacheOf('/v1/accounts?limit=1&offset=1'), 'MISS')
  assert.equal(await cacheOf('/v1/accounts?offset=1&limit=1'), 'HIT')
  assert.equal(await cacheOf('/v1/accounts?limit=2&offset=1'), 'MISS')
  service.clock.advance(59_999)
  assert.equal(await cacheOf('/v1/accounts?limit=1&offset=1'), 'HIT')
  service.clock.advance(1)
  assert.equal(await cacheOf('/v1/accounts?limit=1&offset=1'), 'MISS')
})

test('R10: after the next refresh a renamed account has its new name and a removed one is not listed', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ name: 'Before' }, { name: 'Leaves' }])
  await service.get('/v1/accounts', user)
  const connection = broker.person.connections[0]
  assert(connection !== undefined)
  const [first] = connection.accounts
  assert(first !== undefined)
  first.name = 'After'
  connection.accounts = [first]
  await service.app.connections.refreshConnection(byOperator, broker.connection.id, {
    priority: 'user',
  })
  const { body, headers } = await service.get('/v1/accounts', user)
  assert.equal(headers['x-cache'], 'MISS')
  assert.deepEqual(
    body.data.map((row: Row) => [row.id, row.name]),
    [[broker.accounts[0]?.id, 'After']],
  )
})

test('R11: a second question mark belongs to the name of a parameter, which is unknown', async () => {
  const user = await plantNames(['Everyday'])
  const { body } = await service.get('/v1/accounts??limit=1', user)
  assert.equal(body.pagination.limit, 50)
  const { headers } = await service.get('/v1/transactions??accountId=x', user)
  assert.equal(headers.deprecation, 'true')
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { migrateAccount } from '#sandbox/akahu/people.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { akahuRow, fiskilRow, makeBankUser, namesOf, plantAkahu, plantFiskil } from './planted.ts'

const service = await startService()
const user = await service.createUser()
await service.link(user, 'healthy')
await service.link(user, 'history', 'fiskil')
after(() => service.close())

async function bankAccount(provider: 'fiskil' | 'akahu', name?: string) {
  const rows = await service.accounts(user)
  const row = rows.find(
    (candidate) =>
      candidate.provider === provider && (name === undefined || candidate.name === name),
  )
  assert(row !== undefined)
  return row
}

test('the last thirty days of one account, newest first, exact and typed', async () => {
  const account = await bankAccount('fiskil', 'Everyday')
  const answer = await service.get(
    `/v1/transactions?connectionId=${account.connectionId}&accountId=${account.id}`,
    user,
  )
  assert.equal(answer.status, 200)
  assert(answer.body.data.length > 5)
  assert.equal(answer.body.pagination.total, answer.body.data.length)
  assert.equal(answer.body.pagination.hasMore, false)
  for (const row of answer.body.data) {
    assert.equal(row.accountId, account.id)
    assert.equal(row.direction, row.amount.startsWith('-') ? 'debit' : 'credit')
    assert(row.date >= '2026-10-22' && row.date <= '2026-11-21')
  }
})

test('R18: a walk over 5,400 rows shows each exactly once, and R19: costs each provider page once', async () => {
  const rows = await service.accounts(user)
  const person = service.sandbox.fiskil.people.history
  const account = rows.find((row) =>
    person.consents.some((consent) =>
      consent.accounts.some((held) => held.body.account_id === row.upstreamId),
    ),
  )
  assert(account !== undefined)
  service.sandbox.fiskil.requests.length = 0
  const seen = new Set<string>()
  let count = 0
  for (let offset = 0; ; ) {
    const { body } = await service.get(
      `/v1/transactions?connectionId=${account.connectionId}&accountId=${account.id}&from=2024-01-01&limit=500&offset=${offset}`,
      user,
    )
    for (const row of body.data) seen.add(row.id)
    count += body.data.length
    offset += body.data.length
    if (!body.pagination.hasMore) {
      assert.equal(body.pagination.total, count)
      break
    }
  }
  assert.equal(count, seen.size)
  assert(count > 5000)
  const pages = service.sandbox.fiskil.requests.filter(
    (request) => request.path === '/v1/banking/transactions',
  )
  assert.equal(new Set(pages.map((page) => page.rawQuery)).size, pages.length)
})

test('R24: every digit of an amount arrives, and its sign says the direction', async () => {
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Joint Account' })
  const amounts = [
    ['-12345678901234567890.10', '-12345678901234567890.10', 'debit'],
    ['0.1000', '0.1000', 'credit'],
    ['-0.00', '0.00', 'credit'],
    ['0', '0', 'credit'],
    ['-0.000000001', '-0.000000001', 'debit'],
  ] as const
  plantFiskil(
    service,
    'Joint Account',
    amounts.map(([amount], index) => fiskilRow(`${index}`, '2026-11-12T00:00:00Z', { amount })),
  )
  const { body } = await bank.ask()
  assert.deepEqual(
    body.data.map((row: { amount: string; direction: string }) => [row.amount, row.direction]),
    amounts.map(([, amount, direction]) => [amount, direction]),
  )
})

test('R24: numbers of Akahu are read as text, never through a float', async () => {
  const bank = await makeBankUser(service, { provider: 'akahu', name: 'US Dollar Account' })
  const tokens = ['-9007199254740993.17', '0.30', '1.5E+3', '-1e-7', '-0']
  plantAkahu(
    service,
    'US Dollar Account',
    tokens.map((amount, index) =>
      akahuRow(`${index}`, `2026-11-1${9 - index}T01:00:00.000Z`, { amount }),
    ),
  )
  const { body } = await bank.ask()
  assert.deepEqual(
    body.data.map((row: { amount: string }) => row.amount),
    ['-9007199254740993.17', '0.30', '1500', '-0.0000001', '0'],
  )
})

test('without accountId every account of the connection is read, and no other', async () => {
  const rows = await service.accounts(user)
  const { connectionId } = await bankAccount('fiskil', 'Everyday')
  const answer = await service.get(
    `/v1/transactions?connectionId=${connectionId}&from=2026-09-01&limit=500`,
    user,
  )
  const own = rows.filter((row) => row.connectionId === connectionId)
  const seen = new Map<string, string>(
    answer.body.data.map((row: Record<string, string>) => [row.accountId, row.accountName]),
  )
  assert(seen.size > 2)
  for (const [id, name] of seen) assert.equal(own.find((row) => row.id === id)?.name, name)
})

test('R20: an account that Akahu moved to another id is followed, and keeps ours', async () => {
  const bank = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  plantAkahu(service, 'Rainy Day', [akahuRow('salary', '2026-11-12T01:00:00.000Z')])
  const { akahu } = service.sandbox
  const moved = akahu.people.healthy.accounts.find((one) => one.name === 'Rainy Day')
  assert(moved !== undefined)
  migrateAccount(moved, moved.connection)
  // Its list of accounts fails three times meanwhile: this counts as the bank's failure, too.
  akahu.addFault({
    when: ({ path }) => path === '/v1/accounts',
    times: 3,
    does: { kind: 'reply', reply: { status: 500 } },
  })
  for (const limit of [1, 2, 3]) assert.equal((await bank.ask(`&limit=${limit}`)).status, 503)
  assert.equal(codeOf(await bank.ask('&limit=4')), 'upstream_breaker_open')
  service.clock.advance(60_000)
  const answer = await bank.ask('&limit=5')
  assert.deepEqual([answer.status, namesOf(answer)], [200, ['salary']])
  assert.equal(answer.body.data[0].accountId, bank.account.id)
})

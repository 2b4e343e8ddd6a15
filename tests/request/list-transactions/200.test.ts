import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
before(async () => {
  service = await startService()
  user = await service.createUser()
  await service.link(user, 'healthy')
  await service.link(user, 'history', 'fiskil')
})
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

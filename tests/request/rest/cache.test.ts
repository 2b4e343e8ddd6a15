/**
 * What the cache holds, for whom and how long (contract, Limits; contract, Common response headers; readings
 * R8, R9, R19).
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import {
  type Answer,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
let bank: AccountRow
let broker: AccountRow
before(async () => {
  service = await startService()
  user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  await service.link(user, 'healthy', 'snaptrade')
  const rows = await service.accounts(user)
  bank = find(rows, 'Everyday')
  broker = find(rows, null)
})
afterEach(() => service.sandbox.fiskil.clearFaults())
after(() => service.close())

/** By name; null: the first brokerage account. */
function find(rows: readonly AccountRow[], name: string | null): AccountRow {
  const row = rows.find((candidate) =>
    name === null ? candidate.provider === 'snaptrade' : candidate.name === name,
  )
  assert(row !== undefined)
  return row
}

const cacheOf = (answer: Answer) => answer.headers['x-cache']
const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const transactions = (query = '') =>
  `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.id}${query}`

test('R8: every answer is kept for the life that its endpoint promises, to the millisecond', async () => {
  const lives = [
    ['/v1/categories', 3600],
    ['/v1/connections', 60],
    ['/v1/accounts', 60],
    [`/v1/balances?accountIds=${bank.id}`, 300],
    [transactions(), 1800],
    [`/v1/holdings?connectionId=${broker.connectionId}&accountId=${broker.id}`, 600],
    [`/v1/trades?connectionId=${broker.connectionId}&accountId=${broker.id}&limit=5`, 600],
  ] as const
  for (const [path, seconds] of lives) {
    const first = await service.get(path, user)
    assert.equal(first.status, 200, path)
    assert.equal(cacheOf(first), 'MISS', path)
    service.clock.advance(seconds * 1000 - 1)
    const warm = await service.get(path, user)
    assert.equal(cacheOf(warm), 'HIT', path)
    assert.equal(warm.text, first.text)
    service.clock.advance(1)
    assert.equal(cacheOf(await service.get(path, user)), 'MISS', path)
  }
})

test('the key is user, path and sorted query: any order of parameters is one entry', async () => {
  const path = `/v1/transactions?limit=3&connectionId=${bank.connectionId}&accountId=${bank.id}`
  assert.equal(cacheOf(await service.get(path, user)), 'MISS')
  assert.equal(cacheOf(await service.get(transactions('&limit=3'), user)), 'HIT')
  assert.equal(cacheOf(await service.get(transactions('&limit=03'), user)), 'MISS')
  const [one, other] = [bank.id, find(await service.accounts(user), 'Bonus Saver').id]
  for (const ids of [`${one},${other}`, `${other},${one}`, `${one},${other},${one}`]) {
    const answer = await service.get(`/v1/balances?accountIds=${ids}`, user)
    assert.equal(cacheOf(answer), 'MISS', 'order and repetition make distinct entries')
    assert.equal(answer.body.data.length, 2)
  }
})

test('R10: an entry belongs to the user: a second key of theirs meets it, another user never', async () => {
  const path = transactions('&limit=9')
  await service.get(path, user)
  const minted = mintKey()
  const { prefix, hash } = minted
  const createdAt = service.clock.now()
  const fields = { name: 'second', prefix, hash, createdAt, expiresAt: null }
  await service.app.store.keys.create({ userId: user.id, ...fields })
  const second = await service.get(path, `Bearer ${minted.key}`)
  // A new key may purge what was cached; the one after it must be met.
  const again = await service.get(path, user)
  assert.equal(second.status, 200)
  assert.equal(cacheOf(again), 'HIT')
  const stranger = await service.createUser()
  const refused = await service.get(path, stranger)
  assert.deepEqual([refused.status, cacheOf(refused)], [404, 'MISS'])
})

test('R8: an error is a MISS each time and never stored', async () => {
  const paths = [
    '/v1/accounts?limit=0',
    `/v1/transactions?connectionId=${unknownId}`,
    `/v1/balances?accountIds=${unknownId}`,
    `/v1/holdings?connectionId=${bank.connectionId}`,
    transactions('&from=tomorrow'),
  ]
  for (const path of [...paths, ...paths]) {
    const answer = await service.get(path, user)
    assert(answer.status >= 400)
    assert.equal(cacheOf(answer), 'MISS', path)
  }
})

test('R8: a provider that failed is asked again', async () => {
  service.sandbox.fiskil.addFault({ times: 1, does: { kind: 'reply', reply: { status: 500 } } })
  const path = transactions('&to=2026-11-20')
  const failed = await service.get(path, user)
  assert.deepEqual([failed.status, cacheOf(failed)], [503, 'MISS'])
  const good = await service.get(path, user)
  assert.deepEqual([good.status, cacheOf(good)], [200, 'MISS'])
})

test('R8: an answer with a null balance is a MISS and never stored', async () => {
  const { healthy } = service.sandbox.fiskil.people
  const account = healthy.consents[0]?.accounts[0]
  assert(account !== undefined)
  const { balance } = account
  account.balance = null
  const path = `/v1/balances?accountIds=${bank.id}&x=1`
  try {
    for (let count = 0; count < 2; count += 1) {
      const answer = await service.get(path, user)
      assert.deepEqual([answer.status, cacheOf(answer)], [200, 'MISS'])
      assert.equal(answer.body.data[0].currentBalance, null)
    }
  } finally {
    account.balance = balance
  }
  assert.equal((await service.get(path, user)).body.data[0].currentBalance, '4821.37')
  assert.equal(cacheOf(await service.get(path, user)), 'HIT')
})

test('R8: refused before the cache was asked, it is BYPASS', async () => {
  const warm = '/v1/categories'
  await service.get(warm, user)
  const planless = await service.createUser({ plan: 'none' })
  assert.equal(cacheOf(await service.get(warm, planless)), 'BYPASS')
  assert.equal(cacheOf(await service.get(warm, 'Bearer wrong')), 'BYPASS')
  assert.equal(cacheOf(await service.get(warm)), 'BYPASS')
})

test('R8: an answer above the size limit is BYPASS, whole, and computed each time', async () => {
  const small = await startService({ env: { CACHE_MAX_ENTRY_BYTES: '1000' } })
  try {
    const owner = await small.createUser()
    await small.link(owner, 'healthy', 'fiskil')
    for (let count = 0; count < 2; count += 1) {
      const large = await small.get('/v1/accounts', owner)
      assert.deepEqual([large.status, cacheOf(large)], [200, 'BYPASS'])
      assert.equal(large.body.data.length, 7)
    }
    assert.equal(cacheOf(await small.get('/v1/accounts?limit=1', owner)), 'MISS')
    assert.equal(cacheOf(await small.get('/v1/accounts?limit=1', owner)), 'HIT')
  } finally {
    await small.close()
  }
})

test('R9: calls without accountId are deprecated, in hits, errors and refusals alike', async () => {
  const without = `/v1/transactions?connectionId=${bank.connectionId}`
  const planless = await service.createUser({ plan: 'none' })
  const answers = [
    await service.get(without, user),
    await service.get(without, user),
    await service.get(`${without}&from=x`, user),
    await service.get('/v1/transactions', user),
    await service.get(`/v1/transactions?connectionId=${unknownId}`, user),
    await service.get(without, planless),
    await service.get(without, 'Bearer wrong'),
    await service.get(without),
  ]
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200, 400, 400, 404, 403, 401, 401],
  )
  assert.equal(cacheOf(answers[1] ?? assert.fail()), 'HIT')
  for (const { headers } of answers) {
    assert.equal(headers.deprecation, 'true')
    assert.equal(headers.sunset, 'Wed, 01 Sep 2027 00:00:00 GMT')
    assert.match(String(headers.link), /^<http.+\/doc>; rel="deprecation"/)
  }
})

test('R9: naming an account, in any spelling, is not deprecated; other endpoints never are', async () => {
  const id = bank.connectionId
  const paths = [
    `/v1/transactions?connectionId=${id}&accountId=${bank.id}`,
    `/v1/transactions?connectionId=${id}&%61ccountId=${bank.id}`,
    `/v1/transactions?accountId=${unknownId}&connectionId=${id}`,
    `/v1/trades?connectionId=${broker.connectionId}&limit=1`,
    `/v1/holdings?connectionId=${broker.connectionId}`,
    '/v1/connections',
  ]
  for (const path of paths) {
    const { headers } = await service.get(path, user)
    assert.equal(headers.deprecation, undefined, path)
    assert.equal(headers.sunset, undefined, path)
    assert.equal(headers.link, undefined, path)
  }
  for (const query of [`&accountid=${bank.id}`, `&accountIds=${bank.id}`, `&xaccountId=1`]) {
    const { headers } = await service.get(`/v1/transactions?connectionId=${id}${query}`, user)
    assert.equal(headers.deprecation, 'true', query)
  }
})

test('R19: no row is served later than one cache life after it was read, by whatever windows', async () => {
  const { fiskil } = service.sandbox
  const asked = () => fiskil.requests.filter((one) => one.path === '/v1/banking/transactions')
  service.clock.advance(3_600_000)
  await service.get(transactions('&limit=31'), user)
  const before = asked().length
  service.clock.advance(1_700_000)
  // Another window of the same query stands on pages that are already old.
  assert.equal(cacheOf(await service.get(transactions('&limit=32'), user)), 'MISS')
  assert.equal(asked().length, before, 'the pages are shared')
  service.clock.advance(99_999)
  assert.equal(cacheOf(await service.get(transactions('&limit=32'), user)), 'HIT')
  service.clock.advance(1)
  assert.equal(cacheOf(await service.get(transactions('&limit=32'), user)), 'MISS')
  assert(asked().length > before, 'its pages were read anew')
})

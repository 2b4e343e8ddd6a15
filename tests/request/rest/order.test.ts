/**
 * The order in which a request is judged (reading R3): every request here is wrong in two ways at once, and
 * the earlier step must win. One test per pair of neighbours.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { AccountRow } from '#store/ports/accounts.ts'
import {
  type Answer,
  codeOf,
  type Service,
  type ServiceUser,
  specified,
  startService,
} from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
let bank: AccountRow
let broker: AccountRow
before(async () => {
  service = await startService({ env: specified })
  user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  await service.link(user, 'healthy', 'snaptrade')
  const rows = await service.accounts(user)
  bank = find(rows, 'fiskil')
  broker = find(rows, 'snaptrade')
})
afterEach(() => {
  service.sandbox.fiskil.clearFaults()
  // A breaker that was opened is let out of its cooldown, and every window is a new one.
  service.clock.advance(3_700_000)
})
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

function find(rows: readonly AccountRow[], provider: string): AccountRow {
  const row = rows.find((candidate) => candidate.provider === provider)
  assert(row !== undefined)
  return row
}

function assertError(answer: Answer, status: number, code: string | undefined): void {
  assert.deepEqual([answer.status, codeOf(answer)], [status, code], answer.text)
}

const transactions = (query: string, of: AccountRow = bank) =>
  `/v1/transactions?connectionId=${of.connectionId}&${query}`

async function exhaust(path: string, as: ServiceUser | string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await service.get(path, as)
}

/** Four requests that hang at the provider; resolves when all have arrived there. */
async function holdFour(as: ServiceUser, account: AccountRow): Promise<readonly Promise<Answer>[]> {
  const { fiskil } = service.sandbox
  fiskil.addFault({
    when: (request) => request.path === '/v1/banking/transactions',
    times: 4,
    does: { kind: 'delay', ms: 150 },
  })
  const before = fiskil.requests.length
  const held = [11, 12, 13, 14].map((day) =>
    service.get(transactions(`accountId=${account.id}&to=2026-11-${day}`, account), as),
  )
  for (let wait = 0; wait < 200 && fiskil.requests.length < before + 4; wait += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return held
}

test('R3: 1 unknown path before 2 the pre-auth limit', async () => {
  await exhaust('/v1/accounts', 'Bearer wrong', 60)
  assertError(await service.get('/v1/accounts', 'Bearer wrong'), 429, undefined)
  const unknown = await service.get('/v1/nothing', 'Bearer wrong')
  assertError(unknown, 404, 'not_found')
  assert.equal(unknown.headers['x-ratelimit-remaining'], '0')
})

test('R3: 2 the pre-auth limit before 3 authentication', async () => {
  const malformed = 'Basic dGVzdA=='
  await exhaust('/v1/accounts', malformed, 60)
  assertError(await service.get('/v1/accounts', malformed), 429, undefined)
  await exhaust('/v1/accounts', '', 60)
  const missing = await service.get('/v1/accounts')
  assertError(missing, 429, undefined)
  assert.equal(missing.headers['www-authenticate'], undefined)
})

test('R3: 3 authentication before 4 the rate bucket', async () => {
  const other = await service.createUser()
  await exhaust('/v1/categories', other, 60)
  assertError(await service.get('/v1/categories', other), 429, undefined)
  await service.app.store.keys.revoke(other.keyId, service.clock.now())
  assertError(await service.get('/v1/categories', other), 401, 'invalid_token')
})

test('R3: 4 the rate bucket before 5 the plan', async () => {
  const other = await service.createUser({ plan: 'none' })
  await exhaust('/v1/categories', other, 60)
  assertError(await service.get('/v1/categories', other), 429, undefined)
})

test('R3: 5 API access before brokerage access', async () => {
  const other = await service.createUser({ plan: 'professional', status: 'canceled' })
  const answer = await service.get('/v1/holdings', other)
  assertError(answer, 403, undefined)
  assert.match(answer.body.error.message, /API access requires a Developer or Professional plan/)
})

test('R3: 5 the plan before 6 requests in flight, and before the parameters', async () => {
  const other = await service.createUser({ plan: 'developer' })
  await service.link(other, 'healthy', 'fiskil')
  const account = find(await service.accounts(other), 'fiskil')
  const held = await holdFour(other, account)
  assertError(await service.get('/v1/trades?limit=x', other), 403, 'professional_required')
  assertError(await service.get('/v1/transactions?limit=x', other), 429, undefined)
  for (const answer of await Promise.all(held)) assert.equal(answer.status, 200)
})

test('R3: 6 requests in flight before 7 the cache', async () => {
  const warm = transactions(`accountId=${bank.id}`)
  await service.get(warm, user)
  assert.equal((await service.get(warm, user)).headers['x-cache'], 'HIT')
  const held = await holdFour(user, bank)
  const refused = await service.get(warm, user)
  assertError(refused, 429, undefined)
  assert.equal(refused.headers['x-cache'], 'BYPASS')
  await Promise.all(held)
  assert.equal((await service.get(warm, user)).headers['x-cache'], 'HIT')
})

test('R3: 8 the schema before 9 the dates', async () => {
  const answer = await service.get(transactions('from=yesterday&limit=0'), user)
  assertError(answer, 400, 'invalid_params')
  assert.deepEqual(answer.body.error.details, ['limit: must be a whole number from 1 to 500'])
  assertError(await service.get('/v1/transactions?from=yesterday', user), 400, 'invalid_params')
})

test('R3: 9 format before order, order before age', async () => {
  const format = await service.get(transactions('from=2001-02-30&to=2000-01-01'), user)
  assertError(format, 400, undefined)
  assert.equal(format.body.error.details.length, 1)
  const order = await service.get(transactions('from=2001-02-03&to=2000-01-01'), user)
  assertError(order, 400, 'invalid_date_range')
  const age = await service.get(transactions('from=2000-01-01&to=2000-01-02'), user)
  assertError(age, 400, 'from_too_old')
})

test('R3: 9 the dates before 10 the connection', async () => {
  for (const [dates, code] of [
    ['from=x', undefined],
    ['from=2026-02-02&to=2026-02-01', 'invalid_date_range'],
    ['from=2001-01-01', 'from_too_old'],
  ] as const) {
    const answer = await service.get(
      `/v1/transactions?connectionId=${unknownId}&accountId=${unknownId}&${dates}`,
      user,
    )
    assertError(answer, 400, code)
  }
})

test('R3: 10 the connection before its category, the category before the accounts', async () => {
  const none = await service.get(
    `/v1/transactions?connectionId=${unknownId}&accountId=${unknownId}`,
    user,
  )
  assertError(none, 404, 'connection_not_found')
  const category = 'wrong_endpoint_for_category'
  const bad = `accountId=${unknownId}`
  assertError(await service.get(transactions(bad, broker), user), 400, category)
  for (const path of ['/v1/trades', '/v1/holdings']) {
    const query = `connectionId=${bank.connectionId}&${bad}`
    assertError(await service.get(`${path}?${query}`, user), 400, category)
  }
  assertError(await service.get(transactions(bad), user), 404, 'account_not_found')
})

test('R3: 10 the accounts before 11 the breaker, and 11 the breaker before 12 the provider', async () => {
  const { fiskil } = service.sandbox
  fiskil.addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  for (const limit of [1, 2, 3]) {
    assertError(await service.get(transactions(`limit=${limit}`), user), 503, undefined)
  }
  fiskil.clearFaults()
  const asked = fiskil.requests.length
  const open = await service.get(transactions('limit=4'), user)
  assertError(open, 503, 'upstream_breaker_open')
  assert.equal(fiskil.requests.length, asked, 'the provider is not asked')
  const unknown = await service.get(transactions(`accountId=${unknownId}`), user)
  assertError(unknown, 404, 'account_not_found')
  assertError(await service.get(transactions('limit=-1'), user), 400, 'invalid_params')
  assertError(await service.get(transactions('from=2001-01-01'), user), 400, 'from_too_old')
})

test('R3: a hit is served while the breaker is open', async () => {
  const warm = transactions(`accountId=${bank.id}&limit=7`)
  assert.equal((await service.get(warm, user)).status, 200)
  service.sandbox.fiskil.addFault({ does: { kind: 'reply', reply: { status: 502 } } })
  for (const limit of [11, 12, 13]) await service.get(transactions(`limit=${limit}`), user)
  assertError(await service.get(transactions('limit=14'), user), 503, 'upstream_breaker_open')
  const hit = await service.get(warm, user)
  assert.deepEqual([hit.status, hit.headers['x-cache']], [200, 'HIT'])
})

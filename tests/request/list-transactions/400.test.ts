/**
 * What is wrong with a request for transactions (readings R11, R12, R14, R15), and refusals of the providers
 * (R20, R20b).
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { AccountRow } from '#store/ports/accounts.ts'
import { type Answer, codeOf, type Service, startService } from '#tests/support/service.ts'
import { type BankUser, makeBankUser, plantFiskil } from './planted.ts'

let service: Service
let bank: BankUser
let nz: BankUser
let broker: AccountRow
before(async () => {
  service = await startService()
  bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  await service.link(bank.user, 'healthy', 'snaptrade')
  const row = (await service.accounts(bank.user)).find((one) => one.provider === 'snaptrade')
  assert(row !== undefined)
  broker = row
})
afterEach(() => {
  service.sandbox.fiskil.clearFaults()
  service.sandbox.akahu.clearFaults()
})
after(() => service.close())

const get = (path: string) => service.get(`/v1/transactions${path}`, bank.user)

function assertInvalid(answer: Answer, details: readonly string[], what: string): void {
  assert.equal(answer.status, 400, what)
  assert.equal(codeOf(answer), 'invalid_params', what)
  assert.equal(answer.body.error.message, 'Invalid request parameters')
  assert.deepEqual(answer.body.error.details, details, what)
}

test('R11: limit and offset are whole numbers, and every one that is wrong is named', async () => {
  const limit = 'limit: must be a whole number from 1 to 500'
  const offset = 'offset: must be a whole number from 0 to 2147483647'
  for (const text of ['0', '00', '-1', '1.5', '1e2', 'ten', '0x10', '%2B5', '%205', '1_0', '١']) {
    assertInvalid(await bank.ask(`&limit=${text}`), [limit], text)
  }
  for (const text of ['-1', '1.0', 'x', '2147483648', '99999999999', '%20', 'NaN', 'null']) {
    assertInvalid(await bank.ask(`&offset=${text}`), [offset], text)
  }
  assertInvalid(await bank.ask('&offset=-1&limit=0'), [limit, offset], 'both')
})

test('R11: a limit above 500 is clamped, however large, and the page says so', async () => {
  for (const text of ['500', '501', '9'.repeat(40)]) {
    const { body } = await bank.ask(`&limit=${text}`)
    assert.equal(body.pagination.limit, 500, text)
  }
  const { body } = await bank.ask('&limit=0007&offset=2147483647')
  assert.deepEqual([body.pagination.limit, body.data], [7, []])
  assert.deepEqual([body.pagination.hasMore, body.pagination.offset], [false, 2147483647])
})

test('R11: empty is not absent, and a parameter is given only once', async () => {
  const once = (name: string) => `${name}: must be given only once`
  assertInvalid(await bank.ask('&limit=1&limit=1'), [once('limit')], 'limit')
  assertInvalid(await bank.ask(`&accountId=${bank.account.id}`), [once('accountId')], 'account')
  const empty = 'must not be empty'
  assertInvalid(await get('?connectionId='), [`connectionId: ${empty}`], 'connection')
  assertInvalid(await bank.askAll('&accountId='), [`accountId: ${empty}`], 'account')
  assertInvalid(await bank.ask('&from=&to='), [`from: ${empty}`, `to: ${empty}`], 'dates')
  assertInvalid(await get(''), ['connectionId: is required'], 'none')
  assert.equal((await bank.ask('&limit=')).status, 400)
  assert.equal((await bank.ask('&offset')).status, 400)
})

test('R11: unknown parameters are ignored', async () => {
  const answer = await bank.ask('&cursor=x&limit%5B%5D=0&Limit=0&accountIds=zzz&__proto__=1&=')
  assert.equal(answer.status, 200)
  assert.equal(answer.body.pagination.limit, 200)
})

test('R12: ids are compared without case, and nothing but a UUID is one', async () => {
  const { account } = bank
  const upper = `?connectionId=${account.connectionId.toUpperCase()}&accountId=${account.id.toUpperCase()}`
  assert.equal((await get(upper)).status, 200)
  for (const form of [`{${account.id}}`, account.id.replaceAll('-', ''), `${account.id}%20`, "'"]) {
    const byAccount = await bank.askAll(`&accountId=${form}`)
    assert.deepEqual([byAccount.status, codeOf(byAccount)], [404, 'account_not_found'], form)
    const byConnection = await get(`?connectionId=${form}`)
    assert.deepEqual([byConnection.status, codeOf(byConnection)], [404, 'connection_not_found'])
  }
})

test('R14: what is no day and no instant with an offset is refused here, all of it at once', async () => {
  const wrong = [
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-11-00',
    '2026-1-1',
    '20261120',
    '2026-11',
    '2026-W47-1',
    '2026-11-20T09:00:00',
    '2026-11-20T09:00:00.123',
    '2026-11-20T09:00Z',
    '2026-11-20T09Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T09:60:00Z',
    '2026-11-20T09:00:61Z',
    '2026-02-30T09:00:00Z',
    '2026-11-20T09:00:00.Z',
    '2026-11-20T09:00:00,5Z',
    '2026-11-20T09:00:00%2B1100',
    '2026-11-20T09:00:00%2B11',
    '2026-11-20T09:00:00%2B25:00',
    '2026-11-20T09:00:00%2B11:60',
    '2026-11-20T09:00:00[Australia/Sydney]',
    '2026-11-20%2009:00:00Z',
    '2026-11-20Z',
    '%202026-11-20',
    '2026-11-20%0A',
    '-2026-11-20',
    '%2B002026-11-20',
    'yesterday',
    '1732150000',
    '%EF%BC%92026-11-20',
  ]
  for (const text of wrong) {
    const answer = await bank.ask(`&from=${text}&to=${text}`)
    assert.equal(answer.status, 400, text)
    const { message, code, details } = answer.body.error
    assert.equal(message, 'Invalid date parameters')
    assert.equal(code, undefined)
    assert.equal(details.length, 2, text)
    assert.match(details[0], /^from: Must be YYYY-MM-DD or RFC3339 with timezone/)
    assert.match(details[1], /^to: Must be YYYY-MM-DD or RFC3339 with timezone/)
    assert.deepEqual((await bank.ask(`&to=${text}`)).body.error.details.length, 1)
  }
})

test('R15: from after to is refused; a missing to counts as now', async () => {
  const range = async (query: string) => {
    const answer = await bank.ask(query)
    return answer.status === 200 ? 'fine' : codeOf(answer)
  }
  assert.equal(await range('&from=2026-11-11&to=2026-11-10'), 'invalid_date_range')
  assert.equal(await range('&from=2026-11-10&to=2026-11-10'), 'fine')
  assert.equal(
    await range('&from=2026-11-10T00:00:01Z&to=2026-11-10T00:00:00Z'),
    'invalid_date_range',
  )
  assert.equal(await range('&from=2026-11-10T00:00:00Z&to=2026-11-10T11:00:00%2B11:00'), 'fine')
  assert.equal(await range('&from=2026-11-22'), 'invalid_date_range')
  assert.equal(await range('&from=2026-11-21'), 'fine')
  assert.equal(await range('&from=2026-11-21T02:00:00Z'), 'fine')
  assert.equal(await range('&from=2026-11-21T02:00:00.001Z'), 'invalid_date_range')
  assert.equal(await range('&from=2026-11-22&to=2026-11-23'), 'fine')
})

test('R15: seven calendar years are allowed, the plain day exactly so far back included', async () => {
  const angeles = await makeBankUser(service, {
    provider: 'fiskil',
    name: 'Bonus Saver',
    timezone: 'America/Los_Angeles',
  })
  const judge = async (reader: BankUser, from: string) => {
    const answer = await reader.ask(`&from=${from}&limit=1`)
    return answer.status === 200 ? 'fine' : codeOf(answer)
  }
  assert.equal(await judge(bank, '2019-11-21'), 'fine')
  assert.equal(await judge(bank, '2019-11-20'), 'from_too_old')
  assert.equal(await judge(bank, '2019-11-21T02:00:00Z'), 'fine')
  assert.equal(await judge(bank, '2019-11-21T01:59:59.999Z'), 'from_too_old')
  assert.equal(await judge(angeles, '2019-11-20'), 'fine')
  assert.equal(await judge(angeles, '2019-11-19'), 'from_too_old')
  assert.equal(await judge(bank, '0001-01-01'), 'from_too_old')
})

test('a brokerage connection is sent to the right endpoints', async () => {
  const answer = await get(`?connectionId=${broker.connectionId}`)
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'wrong_endpoint_for_category'])
  assert.match(answer.body.error.message, /\/v1\/trades/)
  assert.match(answer.body.error.message, /\/v1\/holdings/)
})

test('R20: any 4xx of a provider is upstream_bad_request with its message', async () => {
  const forms = [
    [bank, service.sandbox.fiskil, { id: 'err_1', name: 'bad', message: 'no such account here' }],
    [nz, service.sandbox.akahu, { success: false, message: 'no such account here' }],
  ] as const
  let days = 0
  for (const [of, emulator, body] of forms) {
    for (const status of [400, 403, 409, 418, 422, 451]) {
      days += 1
      emulator.clearFaults()
      emulator.addFault({
        when: ({ path }) => path.endsWith('/transactions'),
        does: { kind: 'reply', reply: { status, body } },
      })
      const answer = await of.ask(`&from=2026-11-${String(days).padStart(2, '0')}`)
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'], `${status}`)
      assert.equal(answer.body.error.message, 'Upstream rejected request: no such account here')
      assert.equal(answer.headers['retry-after'], undefined)
    }
  }
})

test('R20b: for a revoked connection the provider is not called', async () => {
  const gone = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  await service.app.store.connections.setStatus(gone.account.connectionId, 'revoked')
  const asked = service.sandbox.fiskil.requests.length
  const answer = await gone.ask()
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
  const words = 'Upstream rejected request: consent withdrawn, reconnect'
  assert.equal(answer.body.error.message, words)
  assert.equal(service.sandbox.fiskil.requests.length, asked)
})

for (const status of ['invalidated', 'pending_mfa'] as const) {
  test(`R20b: a connection that is ${status} is still read, since its login may be repaired`, async () => {
    const broken = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
    await service.app.store.connections.setStatus(broken.account.connectionId, status)
    const answer = await broken.ask('&from=2026-10-01')
    assert.equal(answer.status, 200)
    assert(answer.body.data.length > 0)
  })
}

test('R20b: an empty answer of the bank is trusted only while the consent is active', async () => {
  const lone = await makeBankUser(service, { provider: 'fiskil', name: 'Joint Account' })
  plantFiskil(service, 'Joint Account', [])
  plantFiskil(service, '12 Month Term Deposit', [])
  const believed = await lone.ask()
  assert.deepEqual([believed.status, believed.body.data], [200, []])
  assert.equal(believed.body.pagination.total, 0)
  const consent = service.sandbox.fiskil.people.healthy.consents[1]
  assert(consent !== undefined)
  consent.active = false
  const doubted = await lone.ask('&from=2026-11-01')
  assert.deepEqual([doubted.status, codeOf(doubted)], [400, 'upstream_bad_request'])
  assert.match(doubted.body.error.message, /consent withdrawn, reconnect$/)
  consent.active = true
})

test('R20: a token that Akahu knows no more invalidates every connection of its person', async () => {
  const person = service.sandbox.akahu.people.healthy
  const { userToken } = person
  person.userToken = null
  try {
    const answer = await nz.ask('&from=2026-11-19')
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
    const { body } = await service.get('/v1/connections', nz.user)
    assert(body.data.length > 1)
    for (const row of body.data) assert.equal(row.status, 'invalidated')
  } finally {
    person.userToken = userToken
  }
})

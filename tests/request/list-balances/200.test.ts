import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { FiskilSandboxAccount } from '#sandbox/fiskil/index.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { plantBank } from '#tests/support/bank.ts'
import { type Answer, type ServiceUser, startService } from '#tests/support/service.ts'

interface Balance {
  readonly accountId: string
  readonly currentBalance: string | null
  readonly availableBalance: string | null
  readonly currency: string | null
}

const service = await startService()
const user = await service.createUser()
await service.link(user, 'healthy')
const accounts = await service.accounts(user)
after(() => service.close())
beforeEach(() => {
  service.sandbox.fiskil.clearFaults()
  service.sandbox.akahu.clearFaults()
  // No answer of an earlier test is still cached.
  service.clock.advance(600_000)
})

function account(provider: 'fiskil' | 'akahu', name: string): AccountRow {
  const row = accounts.find((one) => one.provider === provider && one.name === name)
  assert(row !== undefined, name)
  return row
}

function upstreamOf(row: AccountRow): FiskilSandboxAccount {
  const found = service.sandbox.fiskil.people.healthy.consents
    .flatMap((consent) => consent.accounts)
    .find((one) => one.body.account_id === row.upstreamId)
  assert(found !== undefined)
  return found
}

const ask = (ids: readonly string[], as: ServiceUser = user): Promise<Answer> =>
  service.get(`/v1/balances?accountIds=${ids.join(',')}`, as)

async function one(row: AccountRow): Promise<Balance> {
  const answer = await ask([row.id])
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.body), ['data'])
  assert.equal(answer.body.data.length, 1)
  return answer.body.data[0]
}

test('every banking account of both providers has its balances, each of them once', async () => {
  const banking = accounts.filter((row) => row.provider !== 'snaptrade')
  const answer = await ask(banking.map((row) => row.id))
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-cache'], 'MISS')
  const reported = answer.body.data.map((row: Balance) => row.accountId)
  assert.deepEqual(reported.toSorted(), banking.map((row) => row.id).toSorted())
  for (const row of answer.body.data) {
    assert.deepEqual(Object.keys(row).sort(), [
      'accountId',
      'availableBalance',
      'currency',
      'currentBalance',
    ])
    assert.equal(typeof row.currentBalance, 'string')
  }
})

test('iterated by provider: the answer does not follow the order of the request', async () => {
  const fiskil = account('fiskil', 'Everyday')
  const akahu = account('akahu', 'Everyday')
  for (const ids of [
    [akahu.id, fiskil.id],
    [fiskil.id, akahu.id],
  ]) {
    const reported = (await ask(ids)).body.data.map((row: Balance) => row.accountId)
    assert.deepEqual(reported, [fiskil.id, akahu.id])
  }
})

test('R24: decimals come through the whole service digit for digit', async () => {
  const row = account('fiskil', 'Everyday')
  const upstream = upstreamOf(row)
  const before = upstream.balance
  const cases: [string, string][] = [
    ['123456789012345678901234567890.12', '123456789012345678901234567890.12'],
    ['0.10', '0.10'],
    ['5.000', '5.000'],
    ['-0.00', '0.00'],
    ['+12.50', '12.50'],
    ['1.5e3', '1500'],
    ['1e-8', '0.00000001'],
    ['-431902.18', '-431902.18'],
    ['1E+40', `1${'0'.repeat(40)}`],
  ]
  for (const [sent, shown] of cases) {
    upstream.balance = { ...before, current_balance: sent, available_balance: sent }
    service.clock.advance(600_000)
    const reported = await one(row)
    assert.deepEqual([reported.currentBalance, reported.availableBalance], [shown, shown], sent)
  }
  upstream.balance = before
})

test('R24: float noise of Akahu is rounded half-even to the minor unit, other digits are kept', async () => {
  const row = account('akahu', 'Everyday')
  const upstream = service.sandbox.akahu.people.healthy.accounts.find(
    (one) => one._id === row.upstreamId,
  )
  assert(upstream?.balance != null)
  const before = upstream.balance
  const cases: [currency: string, sent: string, shown: string][] = [
    ['NZD', '30252.859999999997', '30252.86'],
    ['NZD', '-30252.859999999997', '-30252.86'],
    ['NZD', '0.0050000', '0.00'],
    ['NZD', '0.0150000', '0.02'],
    ['NZD', '-0.0000001', '0.00'],
    ['NZD', '12.123456', '12.123456'],
    ['NZD', '12.50', '12.50'],
    ['NZD', '12.5', '12.5'],
    ['NZD', '1e2', '100'],
    ['NZD', '-0', '0'],
    ['NZD', '98765432109876543210.99', '98765432109876543210.99'],
    ['JPY', '100.50000001', '101'],
    ['JPY', '100.5000000', '100'],
    ['KWD', '1.23450000000001', '1.235'],
  ]
  for (const [currency, sent, shown] of cases) {
    upstream.balance = { currency, current: sent, available: sent }
    service.clock.advance(600_000)
    const reported = await one(row)
    assert.deepEqual(
      [reported.currentBalance, reported.availableBalance, reported.currency],
      [shown, shown, currency],
      `${sent} ${currency}`,
    )
  }
  upstream.balance = before
})

test('a balance that the bank does not send is null, the other is returned', async () => {
  const reported = await one(account('fiskil', 'Home Loan'))
  assert.equal(reported.currentBalance, '-431902.18')
  assert.equal(reported.availableBalance, null)
  assert.equal(reported.currency, 'AUD')
})

const nulls = { currentBalance: null, availableBalance: null, currency: null }

test('R23, R24b: an unreadable balance is three nulls and costs the others nothing', async () => {
  const everyday = account('fiskil', 'Everyday')
  const saver = account('fiskil', 'Bonus Saver')
  const upstream = upstreamOf(everyday)
  const before = upstream.balance
  for (const sent of ['12,50', '1e41', '', '$5', '0x10', 'NaN', true, [], { amount: '5' }]) {
    upstream.balance = { ...before, current_balance: sent }
    const answer = await ask([everyday.id, saver.id])
    assert.equal(answer.status, 200)
    const reported = new Map(answer.body.data.map((row: Balance) => [row.accountId, row]))
    assert.deepEqual(reported.get(everyday.id), { accountId: everyday.id, ...nulls }, String(sent))
    assert.equal((reported.get(saver.id) as Balance).currentBalance, '18250.00')
    service.clock.advance(600_000)
  }
  upstream.balance = before
})

const reply = (status: number, body: unknown = { message: 'no' }) => ({
  kind: 'reply' as const,
  reply: { status, body },
})

const failures = {
  '400': reply(400),
  '401': reply(401),
  '403': reply(403),
  '404': reply(404),
  '410': reply(410),
  '429': reply(429),
  '500': reply(500),
  '503': reply(503),
  'no JSON': reply(200, '<html>'),
  'another shape': reply(200, { balances: 'none', items: 7, success: true }),
  'a reset connection': { kind: 'reset' as const },
  'a body cut short': { kind: 'truncate' as const, afterBytes: 20 },
}

for (const [name, does] of Object.entries(failures)) {
  test(`R20: ${name} at one provider makes nulls there, the other's balances are returned, nothing is cached`, async () => {
    const fiskil = account('fiskil', 'Everyday')
    const akahu = account('akahu', 'Everyday')
    for (const [broken, emulator, whole] of [
      [fiskil, service.sandbox.fiskil, akahu],
      [akahu, service.sandbox.akahu, fiskil],
    ] as const) {
      service.clock.advance(600_000)
      emulator.addFault({
        when: ({ path }) => path.endsWith('/balances') || path === '/v1/accounts',
        does,
      })
      for (let count = 0; count < 2; count += 1) {
        const answer = await ask([fiskil.id, akahu.id])
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['x-cache'], 'MISS')
        const reported = new Map(answer.body.data.map((row: Balance) => [row.accountId, row]))
        assert.deepEqual(reported.get(broken.id), { accountId: broken.id, ...nulls })
        assert.equal(typeof (reported.get(whole.id) as Balance).currentBalance, 'string')
      }
      emulator.clearFaults()
      // An Akahu 401 says that the person's token is gone: the status is reset for the next case.
      for (const row of await service.app.store.connections.list(user.id)) {
        await service.app.store.connections.setStatus(row.id, 'active')
      }
      const mended = await ask([fiskil.id, akahu.id])
      assert(mended.body.data.every((row: Balance) => row.currentBalance !== null))
    }
  })
}

test('an account that the provider does not mention is null, not missing', async () => {
  const row = account('fiskil', 'Everyday')
  const upstream = upstreamOf(row)
  const before = upstream.balance
  upstream.balance = null
  assert.deepEqual(await one(row), { accountId: row.id, ...nulls })
  upstream.balance = before
})

test('R20b: for a revoked connection the provider is not called, its balances are null', async () => {
  const planted = await plantBank(service, user, {
    status: 'revoked',
    accounts: [{ name: 'Withdrawn' }],
  })
  const id = planted.accounts[0]?.id ?? ''
  service.sandbox.fiskil.requests.length = 0
  const answer = await ask([id])
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.data, [{ accountId: id, ...nulls }])
  assert.equal(service.sandbox.fiskil.requests.length, 0)
})

test('R20b: balances of a lost consent are nulls', async () => {
  const own = await service.createUser()
  await service.link(own, 'history', 'fiskil')
  const [row] = await service.accounts(own)
  assert(row !== undefined)
  const [consent] = service.sandbox.fiskil.people.history.consents
  assert(consent !== undefined)
  consent.active = false
  const answer = await ask([row.id], own)
  assert.deepEqual(answer.body.data, [{ accountId: row.id, ...nulls }])
  consent.active = true
})

test('one call per login, however many accounts', async () => {
  const own = accounts.filter((row) => row.provider === 'akahu').map((row) => row.id)
  service.sandbox.akahu.requests.length = 0
  await ask(own)
  assert.equal(service.sandbox.akahu.requests.length, 1)
})

test('R12: UUIDs compare without case, blanks between commas are ignored, each account comes once', async () => {
  const { id } = account('fiskil', 'Everyday')
  for (const text of [id.toUpperCase(), `${id},${id.toUpperCase()}`, `,,${id},,`, `${id},${id}`]) {
    const answer = await service.get(`/v1/balances?accountIds=${text}`, user)
    assert.equal(answer.status, 200, text)
    assert.deepEqual(
      answer.body.data.map((row: Balance) => row.accountId),
      [id],
    )
  }
})

test('a comma may be percent-encoded', async () => {
  const ids = [account('fiskil', 'Everyday').id, account('fiskil', 'Bonus Saver').id]
  const answer = await service.get(`/v1/balances?accountIds=${ids.join('%2C')}`, user)
  assert.equal(answer.body.data.length, 2)
})

test('exactly a hundred accounts are served, repetitions beyond do not count', async () => {
  const own = await service.createUser()
  const planted = await plantBank(service, own, {
    status: 'revoked',
    accounts: Array.from({ length: 100 }, (_, index) => ({ name: `A${index}` })),
  })
  const ids = planted.accounts.map((row) => row.id)
  const answer = await ask([...ids, ...ids.slice(0, 50).map((id) => id.toUpperCase())], own)
  assert.equal(answer.status, 200)
  assert.equal(answer.body.data.length, 100)
})

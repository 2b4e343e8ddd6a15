/**
 * A provider that never answers. In a file of its own: nothing here needs an answer in time, so that the
 * short time limit fails no test on a busy machine.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Bank, plantBank } from '#tests/support/bank.ts'
import { codeOf, type Service, type ServiceUser, startService } from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
const banks = new Map<string, Bank>()
before(async () => {
  service = await startService({ env: { UPSTREAM_TIMEOUT_MS: '150' } })
  user = await service.createUser()
  for (const provider of ['fiskil', 'akahu', 'snaptrade'] as const) {
    service.sandbox[provider].addFault({ does: { kind: 'hang' } })
    const plan = { provider, secret: 'a-secret', accounts: [{ name: provider }] }
    banks.set(provider, await plantBank(service, user, plan))
  }
})
after(() => service.close())

function bankAt(provider: string): Bank {
  const bank = banks.get(provider)
  assert(bank !== undefined)
  return bank
}

test('R20: balances of providers that do not answer are nulls, and not cached', async () => {
  const ids = ['fiskil', 'akahu'].map((provider) => bankAt(provider).accounts[0]?.id)
  for (let count = 0; count < 2; count += 1) {
    const answer = await service.get(`/v1/balances?accountIds=${ids.join(',')}`, user)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-cache'], 'MISS')
    assert.deepEqual(
      answer.body.data,
      ids.map((accountId) => ({
        accountId,
        currentBalance: null,
        availableBalance: null,
        currency: null,
      })),
    )
  }
})

for (const [path, provider] of [
  ['/v1/holdings', 'snaptrade'],
  ['/v1/trades', 'snaptrade'],
  ['/v1/transactions', 'fiskil'],
  ['/v1/transactions', 'akahu'],
] as const) {
  test(`R20: ${path} of ${provider} without an answer in time is 503, retry after 30, no empty list`, async () => {
    const url = `${path}?connectionId=${bankAt(provider).connection.id}`
    const answer = await service.get(url, user)
    assert.equal(answer.status, 503)
    assert.equal(codeOf(answer), undefined)
    assert.equal(answer.headers['retry-after'], '30')
    assert.equal(answer.headers['x-cache'], 'MISS')
  })
}

/** `X-Data-As-Of` on every answer of money data (reading R40). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toIso } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
before(async () => {
  service = await startService()
  user = await service.createUser({ plan: 'professional' })
  await service.link(user, 'healthy')
})
after(() => service.close())

async function connectionOf(provider: string): Promise<ConnectionRow> {
  const rows = await service.app.store.connections.list(user.id)
  const row = rows.find((one) => one.provider === provider)
  assert.ok(row !== undefined, provider)
  return row
}

async function accountOf({ id }: ConnectionRow): Promise<string> {
  const [account] = await service.app.store.accounts.listByConnection(user.id, id)
  assert.ok(account !== undefined)
  return account.id
}

/** The header of the answer that is computed, and of the cached one. */
async function agesOf(path: string): Promise<unknown[]> {
  const answers = [await service.get(path, user), await service.get(path, user)]
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['x-cache']]),
    [
      [200, 'MISS'],
      [200, 'HIT'],
    ],
  )
  return answers.map(({ headers }) => headers['x-data-as-of'])
}

for (const [provider, name] of [
  ['akahu', 'transactions'],
  ['snaptrade', 'trades'],
  ['snaptrade', 'holdings'],
] as const) {
  test(`R40: ${name} of ${provider} say when the institution was last read, cached ones too`, async () => {
    const row = await connectionOf(provider)
    const accountId = await accountOf(row)
    assert.ok(row.lastRefreshedAt !== null)
    const age = toIso(row.lastRefreshedAt)
    assert.deepEqual(await agesOf(`/v1/${name}?connectionId=${row.id}&accountId=${accountId}`), [
      age,
      age,
    ])
  })
}

test('R40: balances say the oldest time of the accounts shown', async () => {
  const row = await connectionOf('akahu')
  const accounts = await service.app.store.accounts.listByConnection(user.id, row.id)
  const [age, again] = await agesOf(
    `/v1/balances?accountIds=${accounts.map(({ id }) => id).join()}`,
  )
  assert.match(String(age), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/)
  assert.equal(again, age)
})

test('R40: nothing is claimed where a provider is read live', async () => {
  const row = await connectionOf('fiskil')
  const accountId = await accountOf(row)
  assert.deepEqual(await agesOf(`/v1/transactions?connectionId=${row.id}&accountId=${accountId}`), [
    undefined,
    undefined,
  ])
  assert.deepEqual(await agesOf(`/v1/balances?accountIds=${accountId}`), [undefined, undefined])
})

test('R40: nothing is claimed where a server of SimpleFIN does not say when the bank was read', async () => {
  const [bank] = service.sandbox.simplefin.people.history?.connections ?? []
  assert.ok(bank !== undefined)
  for (const account of bank.accounts) account.balanceAt = 0
  const other = await service.createUser({ plan: 'professional' })
  const [row] = await service.link(other, 'history', 'simplefin')
  assert.ok(row !== undefined)
  const [account] = await service.app.store.accounts.listByConnection(other.id, row.id)
  for (const path of [
    `/v1/transactions?connectionId=${row.id}&accountId=${account?.id}`,
    `/v1/balances?accountIds=${account?.id}`,
  ]) {
    const { status, headers } = await service.get(path, other)
    assert.deepEqual([status, headers['x-data-as-of']], [200, undefined])
  }
})

test('lists of connections and accounts have no age of data', async () => {
  for (const path of ['/v1/connections', '/v1/accounts'])
    assert.deepEqual(await agesOf(path), [undefined, undefined])
})

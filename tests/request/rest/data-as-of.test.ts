/** `X-Data-As-Of` on every answer of money data (reading R40). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { toIso } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser({ plan: 'professional' })
await service.link(user, 'healthy')
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

test('R40: balances say the oldest time of the accounts shown, as the reading has it and not the store', async () => {
  const other = await service.createUser()
  const ids: string[] = []
  for (const [person, at] of [
    ['twins', '2026-11-18T01:00:00.000Z'],
    ['foreign', '2026-11-17T02:00:00.000Z'],
  ] as const) {
    const [row] = await service.link(other, person, 'akahu')
    const accounts = await service.app.store.accounts.listByConnection(other.id, row?.id as never)
    ids.push(accounts[0]?.id ?? assert.fail(person))
    // After the link, so that what is stored is another time.
    for (const account of service.sandbox.akahu.people[person]?.accounts ?? [])
      account.refreshed = { balance: at, meta: at, transactions: at }
  }
  const ageOf = async (accounts: readonly string[]) => {
    const path = `/v1/balances?accountIds=${accounts.join()}`
    const answers = [await service.get(path, other), await service.get(path, other)]
    assert.equal(answers[1]?.headers['x-cache'], 'HIT')
    const [age, again] = answers.map(({ headers }) => headers['x-data-as-of'])
    assert.equal(again, age)
    return age
  }
  assert.equal(await ageOf(ids.slice(0, 1)), '2026-11-18T01:00:00.000Z')
  assert.equal(await ageOf(ids.slice(1)), '2026-11-17T02:00:00.000Z')
  assert.equal(await ageOf(ids), '2026-11-17T02:00:00.000Z')
  assert.equal(await ageOf(ids.toReversed()), '2026-11-17T02:00:00.000Z')
})

test('R36, R40: at SimpleFIN balances and rows say when the bank was read, and are cached no longer than the reading is good', async () => {
  const person = service.sandbox.simplefin.people.twins
  const other = await service.createUser()
  const [row] = await service.link(other, 'twins', 'simplefin')
  const [account] = await service.app.store.accounts.listByConnection(other.id, row?.id as never)
  const bankAt = service.clock.now() - 3_600_000
  for (const one of person?.connections.flatMap(({ accounts }) => accounts) ?? [])
    one.balanceAt = bankAt
  const paths = [
    `/v1/balances?accountIds=${account?.id}`,
    `/v1/transactions?connectionId=${row?.id}&accountId=${account?.id}`,
  ]
  const ask = async () => {
    const answers = await Promise.all(paths.map((path) => service.get(path, other)))
    return answers.map(({ headers }) => [headers['x-cache'], headers['x-data-as-of']])
  }
  // The reading of the link is too old by then.
  service.clock.advance(61 * 60_000)
  const told = toIso(bankAt)
  assert.deepEqual(await ask(), [
    ['MISS', told],
    ['MISS', told],
  ])
  service.clock.advance(58 * 60_000)
  await ask()
  // What was made of a reading ends with it, though balances are kept for five minutes and rows for thirty.
  service.clock.advance(3 * 60_000)
  assert.deepEqual(
    (await ask()).map(([cache]) => cache),
    ['MISS', 'MISS'],
  )
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

/** Reading R43: what a narrow key may be limited to, in which order it is judged, and what happens to it. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { plantBank } from '#tests/support/bank.ts'
import { type ServiceUser, startService } from '#tests/support/service.ts'
import { addNarrowKey } from './narrow.ts'

let user: ServiceUser
const service = await startService()
beforeEach(async () => {
  user = await service.createUser()
})
after(() => service.close())

const create = (input: object) => service.app.actions.createKey(byOperator, user.id, input)
const unknown = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

test('R43: limits that name nothing, or what is not theirs, are refused with what is wrong', async () => {
  const other = await service.createUser()
  const theirs = await plantBank(service, other, { accounts: [{}] })
  const [one, two] = [
    await plantBank(service, user, { accounts: [{}] }),
    await plantBank(service, user, { accounts: [{}] }),
  ]
  const foreign = theirs.connection.id
  const account = two.accounts[0]?.id
  const network = 'must be an IP address or a network in CIDR notation, e.g. 203.0.113.0/24'
  for (const [input, line] of [
    [{ scopes: [] }, 'scopes: must name at least one scope; leave it out for all'],
    [
      { scopes: ['money'] },
      'scopes: must be one of accounts, balances, transactions, holdings, trades, events',
    ],
    [{ scopes: 'accounts' }, 'scopes: must be a list of scopes'],
    [
      { connectionIds: [] },
      'connectionIds: must name at least one connection; leave it out for every connection',
    ],
    [{ connectionIds: [unknown] }, `connectionIds: ${unknown} is no connection of theirs`],
    [{ connectionIds: [foreign] }, `connectionIds: ${foreign} is no connection of theirs`],
    [{ connectionIds: ['x'] }, 'connectionIds: x is no connection of theirs'],
    [
      { accountIds: [] },
      'accountIds: must name at least one account; leave it out for every account',
    ],
    [
      { accountIds: [theirs.accounts[0]?.id] },
      `accountIds: ${theirs.accounts[0]?.id} is no account of theirs`,
    ],
    [
      { connectionIds: [one.connection.id], accountIds: [account] },
      `accountIds: ${account} is on none of the chosen connections`,
    ],
    [{ addresses: [] }, 'addresses: must name at least one address; leave it out for any address'],
    ...['example.org', '10.0.0.0/33', '10.0.0/8', '::/129', 'fe80::1%eth0', '1.2.3.4/', ''].map(
      (address) => [{ addresses: [address] }, `addresses: ${network}`] as const,
    ),
  ] as const) {
    await assert.rejects(create(input), { entry: 'invalid_params', details: [line] })
  }
  assert.equal((await service.app.store.keys.list(user.id)).length, 1)
})

test('R43: limits are stored once each, in their own order, and ids in any case', async () => {
  const { connection } = await plantBank(service, user)
  const { row } = await create({
    scopes: ['trades', 'accounts', 'trades'],
    connectionIds: [connection.id.toUpperCase(), connection.id],
    addresses: [' 2001:DB8::/32 ', '2001:db8::/32'],
  })
  assert.deepEqual(
    [row.scopes, row.connectionIds, row.accountIds, row.addresses],
    [['accounts', 'trades'], [connection.id], null, ['2001:db8::/32']],
  )
})

test('R43: the plan is judged before the scope, and the scope before the parameters', async () => {
  const key = await addNarrowKey(service, user, { scopes: ['accounts'] })
  const codeOf = async (path: string) => (await service.get(path, key)).body.error.code
  assert.equal(await codeOf('/v1/trades'), 'insufficient_scope')
  const rest = { status: 'active', legacyUntil: null, grandfathered: false } as const
  await service.app.store.users.setPlan(user.id, { plan: 'developer', ...rest })
  assert.equal(await codeOf('/v1/trades'), 'professional_required')
  assert.equal(await codeOf('/v1/transactions'), 'insufficient_scope')
})

test('R43: a connection that is removed from under a key leaves nothing of it, and the key no wider', async () => {
  const [first, second] = [
    await plantBank(service, user, { accounts: [{}, {}] }),
    await plantBank(service, user, { accounts: [{}] }),
  ]
  const [mine, other] = [first.connection.id, second.connection.id]
  const accountIds = first.accounts.map(({ id }) => id)
  const keys = [
    await addNarrowKey(service, user, { connectionIds: [mine] }),
    await addNarrowKey(service, user, { accountIds }),
    await addNarrowKey(service, user, { connectionIds: [mine], accountIds }),
  ]
  const ids = async (path: string, key: ServiceUser) =>
    ((await service.get(path, key)).body.data as { id: string }[]).map(({ id }) => id).toSorted()
  for (const key of keys) {
    assert.deepEqual(await ids('/v1/connections', key), [mine])
    assert.deepEqual(await ids('/v1/accounts', key), accountIds.toSorted())
  }
  await service.app.store.connections.delete(mine as ConnectionId)
  const later = await plantBank(service, user, { accounts: [{}] })
  for (const key of keys) {
    assert.deepEqual(await ids('/v1/connections', key), [])
    const { body } = await service.get('/v1/accounts', key)
    assert.deepEqual(body, {
      data: [],
      pagination: { total: 0, limit: 50, offset: 0, hasMore: false },
    })
    for (const id of [mine, other, later.connection.id, unknown]) {
      const answer = await service.get(`/v1/transactions?connectionId=${id}`, key)
      assert.equal(answer.body.error.code, 'connection_not_found')
    }
  }
  assert.equal((await service.get('/v1/connections', user)).body.data.length, 2)
})

test('R43: an account that comes later is seen through its connection, and not by a key of other accounts', async () => {
  const { connection, accounts } = await plantBank(service, user, { accounts: [{ name: 'A' }] })
  const [account] = accounts
  assert(account !== undefined)
  const whole = await addNarrowKey(service, user, { connectionIds: [connection.id] })
  const chosen = await addNarrowKey(service, user, { accountIds: [account.id] })
  const known = (await service.app.store.accounts.list(user.id)).map(
    ({ id: _id, connectionId: _connection, userId: _user, ...rest }) => rest,
  )
  const later = { ...known[0], upstreamId: 'later', name: 'B' } as (typeof known)[number]
  await service.app.store.accounts.replace(connection.id, () => ({
    added: [later],
    changed: [],
    hidden: [account.id],
  }))
  const names = async (key: ServiceUser) =>
    ((await service.get('/v1/accounts', key)).body.data as { name: string }[]).map(
      ({ name }) => name,
    )
  assert.deepEqual([await names(whole), await names(chosen)], [['B'], []])
  assert.deepEqual((await service.get('/v1/connections', chosen)).body, { data: [] })
})

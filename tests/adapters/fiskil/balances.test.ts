/**
 * Tests of balances: one call for everything of an end user, matched by consent and account, exact, and
 * silent about accounts that the provider does not mention.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Balance } from '#contract/resources.ts'
import type { BalanceQuery } from '#providers/port.ts'
import { failureOf, type Linked, link, makeCall, openSetting, type Setting } from './harness.ts'

const at = '/v1/banking/balances'

function toQuery(...links: Linked[]): BalanceQuery {
  const [first] = links
  if (first === undefined) throw new Error('no link')
  const accounts = links.flatMap(({ accounts, connection }) =>
    accounts.map((account) => ({ account, connection })),
  )
  return { login: first.login, accounts }
}

async function read(setting: Setting, query: BalanceQuery) {
  return (await readWhole(setting, query)).balances
}

async function readWhole(setting: Setting, query: BalanceQuery) {
  const { balances } = setting.adapter
  assert.ok(balances !== undefined)
  return balances(query, makeCall())
}

function accountsOf(setting: Setting, index: number) {
  return setting.emulator.people.healthy.consents[index]?.accounts ?? []
}

test('balances of all banks of an end user come with one call, in the order of the provider', async () => {
  await using setting = await openSetting()
  const query = toQuery(link(setting, 'healthy', 1), link(setting, 'healthy', 0))
  const balances = await read(setting, query)
  assert.deepEqual(
    balances.map((one) => [one.currentBalance, one.availableBalance, one.currency]),
    [
      ['4821.37', '4771.37', 'AUD'],
      ['18250.00', '18250.00', 'AUD'],
      ['-1284.60', '4715.40', 'AUD'],
      ['-431902.18', null, 'AUD'],
      ['612.40', '612.40', 'USD'],
      ['935.02', '935.02', 'AUD'],
      ['25000.00', null, 'AUD'],
    ],
  )
  for (const balance of balances) Balance.parse(balance)
  assert.equal(setting.emulator.requests.filter((request) => request.path === at).length, 1)
})

test('only accounts that were asked for are answered; unmentioned ones are absent', async () => {
  await using setting = await openSetting()
  const linked = link(setting, 'healthy')
  const [first, second] = accountsOf(setting, 0)
  assert.ok(first !== undefined && second !== undefined)
  first.balance = null
  const query = toQuery({ ...linked, accounts: linked.accounts.slice(0, 2) })
  const balances = await read(setting, query)
  assert.deepEqual(
    balances.map((one) => one.accountId),
    [linked.accounts[1]?.id],
  )
})

test('the same account id under two consents is two accounts', async () => {
  await using setting = await openSetting()
  const [mine] = accountsOf(setting, 1)
  const [theirs] = accountsOf(setting, 0)
  assert.ok(mine !== undefined && theirs !== undefined)
  mine.body.account_id = theirs.body.account_id
  const linked = link(setting, 'healthy', 1)
  const [balance] = await read(setting, toQuery(linked))
  assert.equal(balance?.currentBalance, '935.02')
})

test('R24: balances that come as numbers keep every digit', async () => {
  await using setting = await openSetting()
  setting.emulator.addFault({
    when: (request) => request.path === at,
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: JSON.stringify(reply.body).replace('"4821.37"', '90071992547409931234.50'),
      }),
    },
  })
  const [balance] = await read(setting, toQuery(link(setting, 'healthy')))
  assert.equal(balance?.currentBalance, '90071992547409931234.50')
})

test('R20: one unreadable balance is three nulls and is counted; the others are returned', async () => {
  await using setting = await openSetting()
  const [first] = accountsOf(setting, 0)
  assert.ok(first?.balance != null)
  first.balance.current_balance = 'n/a'
  const balances = await read(setting, toQuery(link(setting, 'healthy')))
  assert.deepEqual(
    balances.slice(0, 2).map((one) => [one.currentBalance, one.currency]),
    [
      [null, null],
      ['18250.00', 'AUD'],
    ],
  )
  assert.deepEqual(setting.oddities, ['unreadable balance'])
})

test('R20: an outage is thrown, never an empty list', async () => {
  await using setting = await openSetting()
  setting.emulator.people.healthy.failure = { status: 502, body: { message: 'bank is away' } }
  const failure = await failureOf(read(setting, toQuery(link(setting, 'healthy'))))
  assert.deepEqual(failure, { kind: 'unavailable', status: 502, detail: 'bank is away' })
})

const asked = (setting: Setting) => setting.emulator.requests.map((request) => request.path)

test('R20b: rows prove that a consent is active, and no other request is made', async () => {
  await using setting = await openSetting()
  const linked = link(setting, 'healthy')
  const { consents } = await readWhole(setting, toQuery(linked))
  assert.deepEqual(consents, [
    { connectionId: linked.connection.id, status: 'active', lastRefreshedAt: null },
  ])
  assert.ok(!asked(setting).includes('/v1/consent'))
})

test('R20b: for a consent without rows the list of consents gives its status, bank by bank', async () => {
  await using setting = await openSetting()
  const [living, withdrawn] = [link(setting, 'healthy', 0), link(setting, 'healthy', 1)]
  const consent = setting.emulator.people.healthy.consents[1]
  assert.ok(consent !== undefined)
  consent.active = false
  const { balances, consents } = await readWhole(setting, toQuery(living, withdrawn))
  assert.equal(balances.length, living.accounts.length)
  assert.deepEqual(
    consents.map((one) => [one.connectionId, one.status]),
    [
      [living.connection.id, 'active'],
      [withdrawn.connection.id, 'revoked'],
    ],
  )
  assert.equal(asked(setting).filter((path) => path === '/v1/consent').length, 1)
})

for (const status of [403, 404]) {
  test(`R20b: a ${status} with an ended consent is a lost consent, and with an active one a refusal`, async () => {
    await using setting = await openSetting()
    const linked = link(setting, 'healthy')
    const when = (request: { readonly path: string }) => request.path === at
    setting.emulator.addFault({ when, does: { kind: 'reply', reply: { status, body: {} } } })
    const failure = await failureOf(read(setting, toQuery(linked)))
    assert.equal(failure?.kind, 'rejected')
    const [consent] = setting.emulator.people.healthy.consents
    assert.ok(consent !== undefined)
    consent.active = false
    assert.deepEqual(await readWhole(setting, toQuery(linked)), {
      balances: [],
      consents: [{ connectionId: linked.connection.id, status: 'revoked', lastRefreshedAt: null }],
    })
  })
}

test('R20b: an unexplained empty answer says nothing about the consent, and is counted', async () => {
  await using setting = await openSetting()
  const linked = link(setting, 'healthy')
  for (const account of accountsOf(setting, 0)) account.balance = null
  const when = (request: { readonly path: string }) => request.path === '/v1/consent'
  setting.emulator.addFault({ when, does: { kind: 'reply', reply: { status: 500, body: {} } } })
  assert.deepEqual(await readWhole(setting, toQuery(linked)), { balances: [], consents: [] })
  assert.deepEqual(setting.oddities, ['consent unknown without balances'])
})

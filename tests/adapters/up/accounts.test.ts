/**
 * The Up adapter over HTTP: whose a token is, which accounts it reaches, their balances, and what ends it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Balance } from '#contract/resources.ts'
import { add, compare, type Decimal } from '#kernel/decimal.ts'
import { type MagicName, magicUsers } from '#sandbox/magic-users.ts'
import { toToken } from '#sandbox/up/index.ts'
import {
  balanceQuery,
  call,
  connectionOf,
  failureOf,
  firstAccount,
  loginFor,
  makeGround,
  personOf,
  scopedQuery,
  walk,
  withRows,
} from './harness.ts'

const adopt = (token: string) => ({ provider: 'up', token }) as const

test('identify returns the customer of a token, with the token as the secret', async () => {
  await using ground = await makeGround()
  assert.deepEqual(await ground.adapter.identify(adopt(toToken('healthy')), call), {
    upstreamUserId: personOf(ground, 'healthy').customerId,
    secret: toToken('healthy'),
    isPersonal: true,
  })
  assert.deepEqual(ground.exchanges, ['200 GET /util/ping'])
})

test('a token that expired, was revoked or was replaced is refused with all three reasons and the next step', async () => {
  await using ground = await makeGround()
  const failure = await failureOf(ground.adapter.identify(adopt(toToken('expired')), call))
  assert.ok(failure.kind === 'consent_lost')
  assert.equal(failure.becomes, 'invalidated')
  assert.equal(failure.wholeLogin, true)
  assert.match(failure.detail, /expired, was revoked, or a newer one has replaced it/)
  assert.match(failure.detail, /make a new one in the Up app/)
})

test('what cannot be a token of Up is told apart without a call', async () => {
  await using ground = await makeGround()
  const wrong: [token: string, why: RegExp][] = [
    ['', /there is no token/],
    ['up:yeah: abc', /blanks, line ends/],
    ['up:yeah:abc\n', /blanks, line ends/],
    ['up:yeah:ü', /blanks, line ends/],
    [`up:yeah:${'x'.repeat(600)}`, /longer than any of Up/],
    ['yeah:abc', /starts with "up:yeah:"/],
    ['user_token_abc', /starts with "up:yeah:"/],
    ['up:', /starts with "up:yeah:"/],
    ['up:yeah:', /and more follows/],
    ['up:abc', /starts with "up:yeah:"/],
    ['up::abc', /starts with "up:yeah:"/],
  ]
  for (const [token, why] of wrong) {
    const failure = await failureOf(ground.adapter.identify(adopt(token), call))
    assert.equal(failure.kind, 'rejected', token)
    assert.match(failure.detail, why, token)
  }
  assert.equal(ground.up.requests.length, 0)
})

test('discover finds one connection, its accounts with types and currency, and no numbers', async () => {
  await using ground = await makeGround()
  const login = loginFor(ground, 'healthy')
  const [connection, ...others] = await ground.adapter.discover(login, call)
  assert.deepEqual(others, [])
  const { accounts, ...rest } = connection ?? {}
  assert.deepEqual(rest, {
    upstreamId: login.upstreamUserId,
    institutionId: 'up',
    institutionName: 'Up',
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: null,
  })
  const view = accounts?.map((one) => [one.name, one.type, one.accountNumber, one.currency])
  // A closed saver is not listed. Newest first, equal moments by id.
  assert.deepEqual(
    view?.toSorted(([left], [right]) => String(left).localeCompare(String(right), 'en')),
    [
      ['🌧 Rainy Day', 'savings', null, 'AUD'],
      ['2Up Spending', 'transaction', null, 'AUD'],
      ['Home loan', 'loan', null, 'AUD'],
      ['Spending', 'transaction', null, 'AUD'],
    ],
  )
  assert.deepEqual(ground.oddities, [])
})

test('21 savers are read, and 240 in three pages; numbers in their names are masked', async () => {
  await using ground = await makeGround()
  const person = personOf(ground, 'numbers')
  const names = async () => {
    const [connection] = await ground.adapter.discover(loginFor(ground, 'numbers'), call)
    return connection?.accounts?.map(({ name }) => name) ?? []
  }
  const few = await names()
  assert.equal(few.length, 21)
  assert.ok(few.includes('Holiday 2027'))
  assert.doesNotMatch(few.join(), /633-123|123456789/)
  const [first] = person.accounts
  assert.ok(first !== undefined)
  person.accounts = Array.from({ length: 240 }, (_, index) => ({ ...first, id: `id-${index}` }))
  ground.exchanges.length = 0
  assert.equal((await names()).length, 240)
  assert.equal(ground.exchanges.length, 3)
})

test('a joint account has the same id under two logins', async () => {
  await using ground = await makeGround()
  const idsOf = async (name: 'healthy' | 'joint') => {
    const [connection] = await ground.adapter.discover(loginFor(ground, name), call)
    return connection?.accounts?.flatMap(({ name: shown, upstreamId }) =>
      shown === '2Up Spending' ? [upstreamId] : [],
    )
  }
  const ids = await idsOf('healthy')
  assert.equal(ids?.length, 1)
  assert.deepEqual(await idsOf('joint'), ids)
})

test('an unknown kind of account is `other`, and reported', async () => {
  await using ground = await makeGround()
  Object.assign(firstAccount(ground, 'mfa'), { accountType: 'VAULT' })
  const [connection] = await ground.adapter.discover(loginFor(ground, 'mfa'), call)
  assert.equal(connection?.accounts?.[0]?.type, 'other')
  assert.deepEqual(ground.oddities, ['unknown account type'])
})

test('R24: the current balance is the available one without what is held, exactly', async () => {
  await using ground = await makeGround()
  const account = withRows(ground, [
    { id: 'paid', amount: '-10.00' },
    { id: 'held', amount: '-8.00', heldAmount: '-9007199254740993.10', settlesAt: null },
    { id: 'refund', amount: '0.30', settlesAt: null },
  ])
  account.opening = '100.00'
  const reading = await ground.adapter.balances?.(balanceQuery(ground, 'mfa'), call)
  const [balance] = reading?.balances ?? []
  assert.deepEqual(Balance.parse(balance), {
    accountId: balance?.accountId,
    availableBalance: '-9007199254740902.80',
    currentBalance: '90.00',
    currency: 'AUD',
  })
  assert.deepEqual(
    reading?.consents.map(({ status }) => status),
    ['active'],
  )
  assert.deepEqual(ground.exchanges, ['200 GET /accounts', '200 GET /transactions'])
})

test('the holds of all accounts come with one call, and each account gets its own', async () => {
  await using ground = await makeGround()
  const reading = await ground.adapter.balances?.(balanceQuery(ground, 'healthy'), call)
  assert.equal(reading?.balances.length, 4)
  assert.equal(ground.exchanges.length, 2)
  assert.ok(reading?.balances.every(({ currentBalance }) => currentBalance !== null))
  const held = ground.up.requests.at(-1)
  assert.equal(held?.query.get('filter[status]'), 'HELD')
})

test('without the holds the current balance is null, and the available one is told', async () => {
  await using ground = await makeGround()
  for (const reply of [
    { status: 500 },
    { status: 429, body: { errors: [{ status: '429', title: 'Too Many Requests' }] } },
    { status: 200, body: { data: [{ attributes: { status: 'HELD' } }], links: { next: null } } },
  ]) {
    ground.up.clearFaults()
    ground.up.addFault({
      when: ({ path }) => path.endsWith('/transactions'),
      does: { kind: 'reply', reply },
    })
    const reading = await ground.adapter.balances?.(balanceQuery(ground, 'mfa'), call)
    const [balance] = reading?.balances ?? []
    assert.equal(balance?.currentBalance, null)
    assert.match(balance?.availableBalance ?? '', /^-?\d+\.\d\d$/)
  }
  assert.deepEqual(ground.oddities, Array(3).fill('holds could not be read'))
})

test('a token that is refused in between is a lost consent, and a caller who leaves is followed', async () => {
  await using ground = await makeGround()
  ground.up.addFault({
    when: ({ path }) => path.endsWith('/transactions'),
    does: { kind: 'reply', reply: { status: 401, body: {} } },
  })
  const read = ground.adapter.balances?.(balanceQuery(ground, 'mfa'), call)
  assert.equal((await failureOf(read ?? Promise.resolve())).kind, 'consent_lost')
  const reason = new Error('gone')
  const left = { ...call, signal: AbortSignal.abort(reason) }
  await assert.rejects(
    async () => ground.adapter.balances?.(balanceQuery(ground, 'mfa'), left),
    reason,
  )
})

test('a balance whose text and integer disagree is null, without harm to the others', async () => {
  await using ground = await makeGround()
  ground.up.addFault({
    when: ({ path }) => path.endsWith('/accounts'),
    does: {
      kind: 'edit',
      edit: (reply) => {
        const body = JSON.parse(JSON.stringify(reply.body))
        body.data[0].attributes.balance.valueInBaseUnits += 1
        return { ...reply, body }
      },
    },
  })
  const reading = await ground.adapter.balances?.(balanceQuery(ground, 'healthy'), call)
  const unknown = reading?.balances.filter(({ availableBalance }) => availableBalance === null)
  assert.equal(unknown?.length, 1)
  assert.deepEqual(ground.oddities, ['unreadable balance'])
})

test('a hold that two pages have counts once', async () => {
  await using ground = await makeGround()
  withRows(ground, [
    { id: 'one', amount: '-8.00', settlesAt: null },
    { id: 'two', amount: '-8.00', settlesAt: null },
  ]).opening = '100.00'
  ground.up.addFault({
    when: ({ path, query }) => path.endsWith('/transactions') && !query.has('page[after]'),
    does: {
      kind: 'edit',
      edit: (reply) => {
        const body = JSON.parse(JSON.stringify(reply.body))
        const cursor = Buffer.from('["2030-01-01T00:00:00Z","x"]').toString('base64')
        body.links.next = `https://x.test/?page[after]=${encodeURIComponent(cursor)}`
        return { ...reply, body }
      },
    },
  })
  const reading = await ground.adapter.balances?.(balanceQuery(ground, 'mfa'), call)
  assert.equal(ground.exchanges.length, 3)
  assert.equal(reading?.balances[0]?.availableBalance, '84.00')
  assert.equal(reading?.balances[0]?.currentBalance, '100.00')
})

test('holds of another currency than the balance leave the current balance null', async () => {
  await using ground = await makeGround()
  const amount = { currencyCode: 'USD', value: '-8.00', valueInBaseUnits: -800 }
  withRows(ground, [{ id: 'one', settlesAt: null, overrides: { amount } }])
  const read = async () =>
    (await ground.adapter.balances?.(balanceQuery(ground, 'mfa'), call))?.balances[0]
  assert.equal((await read())?.currentBalance, null)
  assert.match((await read())?.availableBalance ?? '', /^\d/)
  withRows(ground, [
    { id: 'one', settlesAt: null, overrides: { amount } },
    { id: 'two', settlesAt: null },
  ])
  assert.equal((await read())?.currentBalance, null)
})

test('an account without a usable id is malformed, and a name is stored without control characters', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'mfa')
  account.displayName = 'A\u0000B\ud800'
  const [connection] = await ground.adapter.discover(loginFor(ground, 'mfa'), call)
  assert.equal(connection?.accounts?.[0]?.name, 'A B\ufffd')
  for (const id of ['', 'a b', 'a\u0000b', '\ud800', 'ü', 'x'.repeat(201)]) {
    account.id = id
    const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'mfa'), call))
    assert.deepEqual(failure, { kind: 'malformed', detail: 'an account has no usable id' })
  }
})

test('a customer without a usable id is malformed', async () => {
  await using ground = await makeGround()
  for (const id of ['', 7, null, 'a\u0000b', 'x'.repeat(201)]) {
    ground.up.clearFaults()
    ground.up.addFault({ does: { kind: 'reply', reply: { status: 200, body: { meta: { id } } } } })
    const failure = await failureOf(ground.adapter.identify(adopt(toToken('mfa')), call))
    assert.equal(failure.kind, 'malformed', JSON.stringify(id))
  }
})

test('accounts that are not listed any more have no balance', async () => {
  await using ground = await makeGround()
  const query = balanceQuery(ground, 'mfa')
  firstAccount(ground, 'mfa').isClosed = true
  const reading = await ground.adapter.balances?.(query, call)
  assert.deepEqual(reading?.balances, [])
  assert.deepEqual(ground.exchanges, ['200 GET /accounts'])
})

test('cashbacks are rows of their own, each beside its payment', async () => {
  await using ground = await makeGround()
  const { rows } = await walk(ground.adapter, scopedQuery(ground, 'healthy'))
  const cashbacks = rows.filter(({ id }) => id.endsWith(':cashback'))
  assert.ok(cashbacks.length > 10)
  for (const { id, amount, direction, merchantName } of cashbacks) {
    assert.deepEqual([amount, direction, merchantName], ['2.50', 'credit', null])
    assert.ok(rows.some((row) => `${row.id}:cashback` === id))
  }
})

/** Rows of these people cannot be read. */
const unreadable: readonly MagicName[] = ['expired', 'throttled', 'outage', 'malformed']

test('the rows of every account of every person, cashbacks included, sum to its current balance', async () => {
  await using ground = await makeGround({ requestsPerHour: 100_000 })
  const names = magicUsers.flatMap(({ name, at }) => (at.up === null ? [] : [name]))
  let holds = 0
  for (const name of names.filter((one) => !unreadable.includes(one))) {
    const { accounts } = personOf(ground, name)
    personOf(ground, name).rowsLatencyMs = 0
    const { connection, refs } = connectionOf(personOf(ground, name))
    const login = loginFor(ground, name)
    const asked = refs.map((account) => ({ account, connection }))
    const reading = await ground.adapter.balances?.({ login, accounts: asked }, call)
    for (const account of refs) {
      const query = scopedQuery(ground, name, { login, connection, accounts: [account] })
      const { rows } = await walk(ground.adapter, query)
      const opening = accounts.find(({ id }) => id === account.upstreamId)?.opening as Decimal
      const sum = rows.reduce((total, { amount }) => add(total, amount as Decimal), opening)
      const balance = reading?.balances.find(({ accountId }) => accountId === account.id)
      assert.equal(compare(balance?.currentBalance as Decimal, sum), 0, `${name} ${account.name}`)
      if (balance?.currentBalance !== balance?.availableBalance) holds += 1
    }
  }
  assert.ok(holds > 2, 'some have holds')
})

test('an empty answer is believed while the token works', async () => {
  await using ground = await makeGround()
  const { connection } = connectionOf(personOf(ground, 'mfa'))
  const confirm = () => ground.adapter.confirmEmpty(loginFor(ground, 'mfa'), connection, call)
  await confirm()
  personOf(ground, 'mfa').token = null
  const failure = await failureOf(confirm())
  assert.ok(failure.kind === 'consent_lost' && failure.becomes === 'invalidated')
})

test('revoking forgets on our side alone: nothing is sent, and it can be repeated', async () => {
  await using ground = await makeGround()
  const { connection } = connectionOf(personOf(ground, 'healthy'))
  const login = loginFor(ground, 'healthy')
  for (const last of [false, true, true]) {
    await ground.adapter.revoke(login, connection, { last, isAsked: false }, call)
  }
  assert.equal(ground.up.requests.length, 0)
  assert.equal(personOf(ground, 'healthy').token, toToken('healthy'))
})

test('a login without a token is revoked, and nothing is sent', async () => {
  await using ground = await makeGround()
  const login = { ...loginFor(ground, 'healthy'), secret: null }
  const failure = await failureOf(ground.adapter.discover(login, call))
  assert.ok(failure.kind === 'consent_lost' && failure.becomes === 'revoked')
  assert.equal(ground.up.requests.length, 0)
})

test('only reads are sent, each with the token and none in a route or a report', async () => {
  await using ground = await makeGround()
  await ground.adapter.identify(adopt(toToken('healthy')), call)
  await ground.adapter.discover(loginFor(ground, 'healthy'), call)
  await ground.adapter.balances?.(balanceQuery(ground, 'healthy'), call)
  for (const { method, headers } of ground.up.requests) {
    assert.equal(method, 'GET')
    assert.equal(headers.authorization, `Bearer ${toToken('healthy')}`)
  }
  const said = [...ground.exchanges, ...ground.alerts, ...ground.oddities].join('\n')
  assert.doesNotMatch(said, /up:|sandbox-/)
})

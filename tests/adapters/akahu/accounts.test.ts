/**
 * The Akahu adapter over HTTP: who a token belongs to, what connections and accounts it has, their balances,
 * and how a consent ends.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Balance } from '#contract/resources.ts'
import { demoApp, demoUserTokens, toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import { migrateAccount } from '#sandbox/akahu/people.ts'
import { call, connectionOf, failureOf, firstAccount, loginFor, makeGround } from './harness.ts'

const adopt = (userToken: string) => ({ provider: 'akahu', userToken }) as const

test('identify returns the Akahu user of a token, with the token as the secret', async () => {
  await using ground = await makeGround()
  assert.deepEqual(await ground.adapter.identify(adopt(demoUserTokens.healthy), call), {
    upstreamUserId: ground.akahu.people.healthy.user._id,
    secret: demoUserTokens.healthy,
    isPersonal: false,
  })
  assert.deepEqual(ground.exchanges, ['200 GET /me'])
})

test('identify refuses a token that does not work, and one that no header can carry', async () => {
  await using ground = await makeGround()
  const wrong = await failureOf(ground.adapter.identify(adopt('user_token_wrong'), call))
  assert.equal(wrong.kind, 'consent_lost')
  assert.deepEqual(ground.alerts, [])
  const before = ground.akahu.requests.length
  for (const token of ['', 'a b', 'x\r\nx-evil: 1', 'ü', 'x'.repeat(600)]) {
    const failure = await failureOf(ground.adapter.identify(adopt(token), call))
    assert.equal(failure.kind, 'rejected')
  }
  assert.equal(ground.akahu.requests.length, before)
})

test('R20a: while a token is adopted, app credentials that are refused are an alert for the operator', async () => {
  await using ground = await makeGround({ appToken: 'app_token_typo' })
  const failure = await failureOf(ground.adapter.identify(adopt(demoUserTokens.healthy), call))
  assert.equal(failure.kind, 'rejected')
  assert.deepEqual(ground.alerts, [
    '/connections: Invalid app credentials (AKAHU_APP_TOKEN with AKAHU_APP_SECRET)',
  ])
})

test('a refused token stands when the question about our app fails for another reason', async () => {
  await using ground = await makeGround()
  ground.akahu.addFault({
    when: ({ path }) => path === '/v1/connections',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  const failure = await failureOf(ground.adapter.identify(adopt('user_token_wrong'), call))
  assert.equal(failure.kind, 'consent_lost')
})

test('discover finds one connection per login with its accounts, types, masks and currencies', async () => {
  await using ground = await makeGround()
  const found = await ground.adapter.discover(loginFor('healthy'), call)
  const view = found.map((one) => [
    one.institutionName,
    one.status,
    one.accounts?.map((each) => [each.type, each.accountNumber, each.currency]),
  ])
  assert.deepEqual(view, [
    [
      'Kiwibank',
      'active',
      [
        ['transaction', 'xxxx5600', 'NZD'],
        ['savings', 'xxxx5601', 'NZD'],
        ['loan', 'xxxx5690', 'NZD'],
        ['term-deposit', 'xxxx5680', 'NZD'],
        ['transaction', 'xxxx5640', 'USD'],
      ],
    ],
    ['American Express', 'active', [['credit-card', 'xxxx0194', 'NZD']]],
    [
      'Sharesies',
      'active',
      [
        ['transaction', null, 'NZD'],
        ['investment', null, 'NZD'],
      ],
    ],
    ['Airpoints', 'active', [['other', null, 'XXX']]],
  ])
  assert.equal(found[0]?.institutionId, institutions.kiwibank._id)
  assert.equal(found[0]?.institutionLogo, institutions.kiwibank.logo)
  assert.equal(found[0]?.lastRefreshedAt, '2026-11-20T11:00:00.000Z')
  assert.match(found[2]?.upstreamId ?? '', /^creds_/)
  assert.deepEqual(ground.oddities, ['unknown currency'])
})

test('an INACTIVE account makes its connection invalidated and leaves the others active', async () => {
  await using ground = await makeGround()
  firstAccount(ground, 'healthy').status = 'INACTIVE'
  const found = await ground.adapter.discover(loginFor('healthy'), call)
  assert.deepEqual(
    found.map((one) => one.status),
    ['invalidated', 'active', 'active', 'active'],
  )
})

test('a moved account has its former id', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const former = account._id
  migrateAccount(account, institutions.kiwibank)
  const [connection] = await ground.adapter.discover(loginFor('history'), call)
  assert.equal(connection?.accounts?.[0]?.previousUpstreamId, former)
  assert.equal(connection?.accounts?.[0]?.upstreamId, account._id)
})

test('R24: balances come digit by digit from one request, without the noise of floats', async () => {
  await using ground = await makeGround()
  const { healthy } = ground.akahu.people
  const accounts = healthy.accounts.flatMap((one) => {
    const { connection, refs } = connectionOf([one])
    return refs.map((account) => ({ account, connection }))
  })
  const reading = await ground.adapter.balances?.({ login: loginFor('healthy'), accounts }, call)
  assert.ok(reading)
  const { balances } = reading
  const shown = balances.map((balance) => Balance.parse(balance).currentBalance)
  const sent = healthy.accounts.map((one) => one.balance?.current ?? '')
  assert.match(sent[1] ?? '', /9999999997$/)
  assert.match(shown[1] ?? '', /^\d+\.\d\d$/)
  const exact = (list: readonly (string | null)[]) => list.filter((_, index) => index !== 1)
  assert.deepEqual(exact(shown), exact(sent))
  assert.equal(balances[0]?.availableBalance, '2310.5')
  assert.equal(balances[1]?.availableBalance, null)
  assert.equal(balances[3]?.currentBalance, '15000.00')
  assert.equal(balances[4]?.availableBalance, '1.10')
  assert.deepEqual(
    ground.akahu.requests.map((request) => request.path),
    ['/v1/accounts'],
  )
})

test('balances: unasked accounts are left out, unknown ones are absent, INACTIVE ones null (R20b)', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'healthy')
  const { connection, refs } = connectionOf([account])
  const [ref] = refs
  assert.ok(ref)
  const query = { login: loginFor('healthy'), accounts: [{ account: ref, connection }] }
  account.status = 'INACTIVE'
  const lastRefreshedAt = account.refreshed?.transactions ?? null
  assert.deepEqual(await ground.adapter.balances?.(query, call), {
    balances: [{ accountId: ref.id, currentBalance: null, availableBalance: null, currency: null }],
    consents: [{ connectionId: connection.id, status: 'invalidated', lastRefreshedAt }],
  })
  ground.akahu.people.healthy.accounts = []
  assert.deepEqual(await ground.adapter.balances?.(query, call), {
    balances: [],
    consents: [{ connectionId: connection.id, status: 'revoked', lastRefreshedAt: null }],
  })
})

test('the balance of a moved account is found under its former id', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const { connection, refs } = connectionOf([account])
  const accounts = refs.map((one) => ({ account: one, connection }))
  migrateAccount(account, institutions.kiwibank)
  const reading = await ground.adapter.balances?.({ login: loginFor('history'), accounts }, call)
  assert.deepEqual(
    reading?.balances.map((balance) => [balance.accountId, balance.currentBalance]),
    [[refs[0]?.id, account.balance?.current]],
  )
  ground.akahu.people.history.accounts = [account]
  account._authorisation = 'auth_official'
  const moved = await ground.adapter.balances?.({ login: loginFor('history'), accounts }, call)
  // The login that it moved to is another: that the old one is no longer listed proves nothing.
  assert.deepEqual(moved?.consents, [])
})

test('an account that is listed under both its ids has one balance', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  const { connection, refs } = connectionOf([account])
  const accounts = refs.map((one) => ({ account: one, connection }))
  const moved = { ...account, rows: [] }
  migrateAccount(moved, institutions.kiwibank)
  ground.akahu.people.history.accounts.push(moved)
  const reading = await ground.adapter.balances?.({ login: loginFor('history'), accounts }, call)
  assert.equal(reading?.balances.length, 1)
})

test('revoking one login leaves the others of the token, and can be repeated', async () => {
  await using ground = await makeGround()
  const { connection } = connectionOf(ground.akahu.people.healthy.accounts)
  const login = loginFor('healthy')
  for (const _ of [1, 2])
    await ground.adapter.revoke(login, connection, { last: false, isAsked: false }, call)
  const left = await ground.adapter.discover(login, call)
  assert.deepEqual(
    left.map((one) => one.institutionName),
    ['American Express', 'Sharesies', 'Airpoints'],
  )
  assert.ok(ground.exchanges.includes('200 DELETE /authorisations/{id}'))
})

test('revoking the last login ends the whole token, and can be repeated', async () => {
  await using ground = await makeGround()
  const { connection } = connectionOf(ground.akahu.people.healthy.accounts)
  const login = loginFor('healthy')
  for (const _ of [1, 2])
    await ground.adapter.revoke(login, connection, { last: true, isAsked: false }, call)
  assert.equal(ground.akahu.people.healthy.userToken, null)
  await ground.adapter.revoke(login, connection, { last: false, isAsked: false }, call)
  assert.equal((await failureOf(ground.adapter.discover(login, call))).kind, 'consent_lost')
})

test('ending a login ends its webhooks and its token; a personal app is left alone', async () => {
  await using ground = await makeGround()
  const { adapter, akahu } = ground
  const login = loginFor('healthy')
  await adapter.webhooks?.listen?.(login, call)
  for (const _ of [1, 2]) await adapter.endLogin?.(login, call)
  assert.equal(akahu.people.healthy.userToken, null)
  assert.equal(ground.exchanges.filter((one) => one === '200 DELETE /webhooks/{id}').length, 3)
  const { appToken, userToken } = toPersonalTokens('history')
  const asked = akahu.requests.length
  await adapter.endLogin?.({ ...login, secret: `${userToken} ${appToken}` }, call)
  assert.equal(akahu.requests.length, asked)
})

test('an active consent is never reported as revoked', async () => {
  await using ground = await makeGround()
  const { connection } = connectionOf(ground.akahu.people.healthy.accounts)
  const login = loginFor('healthy')
  ground.akahu.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 404, body: { success: false, message: 'What?' } } },
  })
  for (const last of [false, true]) {
    const failure = await failureOf(
      ground.adapter.revoke(login, connection, { last, isAsked: false }, call),
    )
    assert.deepEqual(failure, { kind: 'rejected', status: 404, detail: 'What?' })
  }
  ground.akahu.clearFaults()
  ground.akahu.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  for (const last of [false, true]) {
    const failure = await failureOf(
      ground.adapter.revoke(login, connection, { last, isAsked: false }, call),
    )
    assert.equal(failure.kind, 'unavailable')
  }
})

test('R20b: an empty answer is trusted while the login is ACTIVE, otherwise the consent is lost', async () => {
  await using ground = await makeGround()
  const login = loginFor('healthy')
  const { connection } = connectionOf(ground.akahu.people.healthy.accounts)
  const confirm = () => ground.adapter.confirmEmpty(login, connection, call)
  await confirm()
  const account = firstAccount(ground, 'healthy')
  account.status = 'INACTIVE'
  const detail = 'consent withdrawn, reconnect'
  assert.deepEqual(await failureOf(confirm()), {
    kind: 'consent_lost',
    becomes: 'invalidated',
    detail,
  })
  await ground.adapter.revoke(login, connection, { last: false, isAsked: false }, call)
  assert.deepEqual(await failureOf(confirm()), { kind: 'consent_lost', becomes: 'revoked', detail })
  ground.akahu.people.healthy.userToken = null
  const gone = await failureOf(confirm())
  assert.ok(gone.kind === 'consent_lost' && gone.becomes === 'invalidated' && gone.wholeLogin)
})

test('every user endpoint gets the bearer token and the app id; no secret is in a route or a report', async () => {
  await using ground = await makeGround()
  await ground.adapter.identify(adopt(demoUserTokens.healthy), call)
  await ground.adapter.discover(loginFor('healthy'), call)
  for (const { headers } of ground.akahu.requests) {
    assert.equal(headers.authorization, `Bearer ${demoUserTokens.healthy}`)
    assert.equal(headers['x-akahu-id'], demoApp.appToken)
  }
  const said = [...ground.exchanges, ...ground.alerts, ...ground.oddities].join('\n')
  assert.doesNotMatch(said, /token_|secret/)
})

test('bodies of another shape are malformed and name the place, never the value', async () => {
  await using ground = await makeGround()
  const login = loginFor('healthy')
  const cases: [body: unknown, place: RegExp][] = [
    ['<html>', /not JSON/],
    ['', /not JSON/],
    [{ success: true }, /items/],
    [{ success: false, message: 'Oh' }, /success/],
    [{ success: true, items: [{ _id: 'acc_secret-value' }] }, /items\.0\./],
    [{ success: true, items: [], cursor: { next: 'more' } }, /cursor/],
    [{ success: true, items: {} }, /items/],
  ]
  for (const [body, place] of cases) {
    ground.akahu.clearFaults()
    ground.akahu.addFault({ does: { kind: 'reply', reply: { status: 200, body } } })
    const failure = await failureOf(ground.adapter.discover(login, call))
    assert.equal(failure.kind, 'malformed')
    assert.match(failure.detail, place)
    assert.doesNotMatch(failure.detail, /secret-value/)
  }
})

/**
 * Consent in a browser at Akahu, over HTTP against the emulator: where the person is sent, what every return
 * means, and what is asked of Akahu on the way.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import type { Linking, LinkingRequest } from '#providers/linking.ts'
import type { Login } from '#providers/port.ts'
import { demoApp, demoUserTokens, toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import { call, connectionOf, failureOf, type Ground, loginFor, makeGround } from './harness.ts'

const returnUrl = 'https://tributary.example/providers/akahu/callback'
const state = 'state-of-ours_0123456789'
const user = { userId: newId<UserId>(), email: 'new@example.test', name: null }
const newcomer: LinkingRequest = {
  user,
  login: null,
  institutionId: null,
  renews: null,
  state,
  returnUrl,
}

function linkingOf(ground: Ground): Linking {
  const { linking } = ground.adapter
  assert.ok(linking !== undefined)
  return linking
}

async function begin(ground: Ground, request: Partial<LinkingRequest> = {}): Promise<URL> {
  const { address } = await linkingOf(ground).begin({ ...newcomer, ...request }, call)
  return new URL(address)
}

/** What a browser does: the form of the page with these fields; the address that it is sent to. */
async function decide(address: URL, fields: Readonly<Record<string, string>>): Promise<URL> {
  const body = new URLSearchParams([...address.searchParams])
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  const target = `${address.origin}${address.pathname}`
  const reply = await fetch(target, { method: 'POST', body, redirect: 'manual' })
  assert.equal(reply.status, 303, await reply.text())
  return new URL(reply.headers.get('location') ?? '')
}

function finish(ground: Ground, query: URLSearchParams, more: { login?: Login } = {}) {
  const request = { login: more.login ?? null, query, returnUrl, renews: null }
  return linkingOf(ground).finish(request, call)
}

const bank = institutions.asb._id

test('a person is sent to Akahu’s page with our request, and nothing is asked before', async () => {
  await using ground = await makeGround()
  const linking = linkingOf(ground)
  assert.equal(linking.stateIn, 'parameter')
  assert.equal(linking.register, undefined)
  const address = await begin(ground, { institutionId: bank })
  assert.equal(`${address.origin}${address.pathname}`, ground.akahu.oauthUrl)
  assert.deepEqual(Object.fromEntries(address.searchParams), {
    response_type: 'code',
    client_id: demoApp.appToken,
    redirect_uri: returnUrl,
    scope: 'ENDURING_CONSENT',
    state,
    email: 'new@example.test',
    connection: bank,
  })
  assert.deepEqual(ground.akahu.requests, [])
  const unnamed = await begin(ground)
  assert.equal(unnamed.searchParams.has('connection'), false)
})

test('consent gives the login of the Akahu user, and accounts with rows of recent days', async () => {
  await using ground = await makeGround()
  const returned = await decide(await begin(ground), { decision: 'allow', bank })
  assert.equal(`${returned.origin}${returned.pathname}`, returnUrl)
  assert.equal(returned.searchParams.get('state'), state)
  const outcome = await finish(ground, returned.searchParams)
  assert.ok(outcome.kind === 'agreed')
  const { upstreamUserId, secret, isPersonal } = outcome.identity
  assert.match(upstreamUserId, /^user_/)
  assert.match(secret ?? '', /^user_token_\S+$/)
  assert.equal(isPersonal, false)
  const exchange = ground.akahu.requests.find(({ path }) => path === '/v1/token')
  assert.ok(exchange !== undefined)
  assert.equal(exchange.headers.authorization, undefined)
  assert.deepEqual(JSON.parse(exchange.body), {
    grant_type: 'authorization_code',
    code: returned.searchParams.get('code'),
    redirect_uri: returnUrl,
    client_id: demoApp.appToken,
    client_secret: demoApp.appSecret,
  })
  const login: Login = { ...loginFor('healthy'), upstreamUserId, secret }
  const [connection, ...others] = await ground.adapter.discover(login, call)
  assert.deepEqual(others, [])
  assert.equal(connection?.institutionId, bank)
  assert.deepEqual(
    connection.accounts?.map(({ name, type }) => [name, type]),
    [
      ['Everyday', 'transaction'],
      ['Rainy Day', 'savings'],
      ['Platinum Card', 'credit-card'],
    ],
  )
  const person = Object.values(ground.akahu.people).find(({ userToken }) => userToken === secret)
  assert.ok(person?.accounts.every(({ rows }) => rows.length > 10))
})

test('a second bank of the same person joins the same token, and the page knows their address', async () => {
  await using ground = await makeGround()
  const login = { ...loginFor('history'), upstreamUserId: ground.akahu.people.history.user._id }
  const address = await begin(ground, { login })
  assert.equal(address.searchParams.get('email'), 'history@example.test')
  const returned = await decide(address, { decision: 'allow', bank: institutions.amex._id })
  const outcome = await finish(ground, returned.searchParams, { login })
  assert.ok(outcome.kind === 'agreed')
  assert.equal(outcome.identity.upstreamUserId, login.upstreamUserId)
  assert.equal(outcome.identity.secret, login.secret)
  const found = await ground.adapter.discover(login, call)
  assert.deepEqual(
    found.map(({ institutionName }) => institutionName),
    ['ASB', 'American Express'],
  )
})

test('a renewal names the institution, mends the login and keeps its id; a new token replaces the former', async () => {
  await using ground = await makeGround()
  const { person, login, connection } = broken(ground)
  const address = await begin(ground, { login, renews: connection })
  assert.equal(address.searchParams.get('connection'), institutions.asb._id)
  const fields = { decision: 'allow', 'new-token': 'on' }
  const returned = await decide(address, fields)
  const outcome = await linkingOf(ground).finish(
    { login, query: returned.searchParams, returnUrl, renews: connection },
    call,
  )
  assert.ok(outcome.kind === 'agreed')
  assert.equal(outcome.identity.secret, person.userToken)
  assert.notEqual(outcome.identity.secret, login.secret)
  const renewed = { ...login, secret: outcome.identity.secret }
  const [found] = await ground.adapter.discover(renewed, call)
  assert.deepEqual([found?.upstreamId, found?.status], [connection.upstreamId, 'active'])
  assert.equal((await failureOf(ground.adapter.discover(login, call))).kind, 'consent_lost')
})

test('a renewal may give new ids to the login and its accounts, with nothing that leads to the former', async () => {
  await using ground = await makeGround()
  const { login, connection } = broken(ground)
  const [before] = await ground.adapter.discover(login, call)
  await decide(await begin(ground, { login, renews: connection }), {
    decision: 'allow',
    'new-ids': 'on',
  })
  const [after, ...others] = await ground.adapter.discover(login, call)
  assert.deepEqual(others, [])
  assert.notEqual(after?.upstreamId, before?.upstreamId)
  assert.deepEqual([after?.institutionId, after?.status], [before?.institutionId, 'active'])
  assert.deepEqual(
    after?.accounts?.map(({ accountNumber, previousUpstreamId }) => [
      accountNumber,
      previousUpstreamId,
    ]),
    before?.accounts?.map(({ accountNumber }) => [accountNumber, null]),
  )
  const ids = (found: typeof before) => found?.accounts?.map(({ upstreamId }) => upstreamId) ?? []
  assert.deepEqual(
    ids(before).filter((id) => ids(after).includes(id)),
    [],
  )
})

function broken(ground: Ground) {
  const person = ground.akahu.people.history
  for (const account of person.accounts) account.status = 'INACTIVE'
  const login = { ...loginFor('history'), upstreamUserId: person.user._id }
  return { person, login, connection: connectionOf(person.accounts).connection }
}

test('a renewal goes on without what Akahu tells, when the token is refused or Akahu fails', async () => {
  await using ground = await makeGround()
  const { person, login, connection } = broken(ground)
  person.userToken = null
  const request = { login, renews: connection, institutionId: institutions.asb._id }
  const refused = await begin(ground, request)
  assert.equal(refused.searchParams.get('email'), 'new@example.test')
  assert.equal(refused.searchParams.get('connection'), institutions.asb._id)
  ground.akahu.addFault({ does: { kind: 'reply', reply: { status: 503 } } })
  assert.equal((await begin(ground, request)).searchParams.get('email'), 'new@example.test')
})

test('a renewal by another Akahu user is refused; a new link by one is a login of its own', async () => {
  await using ground = await makeGround()
  const { login, connection } = broken(ground)
  const other = async () =>
    (await decide(await begin(ground), { decision: 'allow', bank })).searchParams
  const renewal = { login, query: await other(), returnUrl, renews: connection }
  assert.deepEqual(await linkingOf(ground).finish(renewal, call), {
    kind: 'failed',
    reason: 'different_account',
    code: 'other_user',
  })
  const outcome = await finish(ground, await other(), { login })
  assert.ok(outcome.kind === 'agreed')
  assert.notEqual(outcome.identity.upstreamUserId, login.upstreamUserId)
})

test('every error of Akahu’s page says why there is no consent', async () => {
  await using ground = await makeGround()
  const outcomes = [
    ['deny', 'cancelled', 'access_denied'],
    ['bank-down', 'unavailable', 'temporarily_unavailable'],
    ['akahu-down', 'unavailable', 'server_error'],
  ] as const
  for (const [decision, reason, code] of outcomes) {
    const returned = await decide(await begin(ground), { decision })
    assert.deepEqual(await finish(ground, returned.searchParams), { kind: 'failed', reason, code })
  }
  const more = [
    ['invalid_grant', 'expired', 'invalid_grant'],
    ['invalid_request', 'misconfigured', 'invalid_request'],
    ['invalid_scope', 'misconfigured', 'invalid_scope'],
    ['unauthorized_client', 'misconfigured', 'unauthorized_client'],
    ['unsupported_response_type', 'misconfigured', 'unsupported_response_type'],
    ['constructor', 'unavailable', 'unknown_error'],
    ['<b>user_token_x</b>', 'unavailable', 'unknown_error'],
    ['', 'unavailable', 'unknown_error'],
  ] as const
  for (const [error, reason, code] of more) {
    const query = new URLSearchParams({ error, code: 'code_beside_it' })
    assert.deepEqual(await finish(ground, query), { kind: 'failed', reason, code })
  }
  assert.ok(ground.akahu.requests.every(({ path }) => path !== '/v1/token'))
})

test('a return without one readable code is none, and nothing is asked of Akahu', async () => {
  await using ground = await makeGround()
  for (const query of [
    '',
    'code=',
    'code=a&code=b',
    'code=a%20b',
    'code=%C3%BC',
    `code=${'a'.repeat(2_049)}`,
  ]) {
    const outcome = await finish(ground, new URLSearchParams(query))
    assert.deepEqual(outcome, { kind: 'failed', reason: 'unavailable', code: 'no_code' })
  }
  assert.deepEqual(ground.akahu.requests, [])
})

test('a code that is late, used, unknown or of another address is expired', async () => {
  await using ground = await makeGround()
  const expired = { kind: 'failed', reason: 'expired', code: 'code_refused' }
  const late = await decide(await begin(ground), { decision: 'late', bank })
  assert.deepEqual(await finish(ground, late.searchParams), expired)
  const good = await decide(await begin(ground), { decision: 'allow', bank })
  assert.equal((await finish(ground, good.searchParams)).kind, 'agreed')
  assert.deepEqual(await finish(ground, good.searchParams), expired)
  assert.deepEqual(await finish(ground, new URLSearchParams({ code: 'unknown' })), expired)
  const elsewhere = await begin(ground, { returnUrl: 'https://tributary.example/elsewhere' })
  const moved = await decide(elsewhere, { decision: 'allow', bank })
  assert.deepEqual(await finish(ground, moved.searchParams), expired)
  assert.deepEqual(ground.alerts, [])
})

test('an app that Akahu refuses at the exchange is an alert for the operator', async () => {
  await using ground = await makeGround({ appSecret: 'another-secret' })
  const returned = await decide(await begin(ground), { decision: 'allow', bank })
  const outcome = { kind: 'failed', reason: 'misconfigured', code: 'invalid_client' }
  assert.deepEqual(await finish(ground, returned.searchParams), outcome)
  assert.equal(ground.alerts.length, 1)
  assert.match(ground.alerts[0] ?? '', /AKAHU_APP_SECRET/)
  ground.akahu.addFault({ times: 1, does: { kind: 'reply', reply: { status: 401, body: {} } } })
  const refused = await finish(ground, new URLSearchParams({ code: 'abc' }))
  assert.deepEqual(refused, { kind: 'failed', reason: 'misconfigured', code: 'status_401' })
  assert.equal(ground.alerts.length, 2)
})

test('an exchange that is not answered, or not readably, fails; it is sent once, and no message has code or secret', async () => {
  const code = 'code_that_nobody_may_see'
  const echo = { success: false, message: `${code} ${demoApp.appSecret} ${demoApp.appToken}` }
  const cases = [
    ['unavailable', { kind: 'reply', reply: { status: 500, body: echo } }],
    ['unavailable', { kind: 'reply', reply: { status: 502, body: '<html>Bad gateway</html>' } }],
    ['unavailable', { kind: 'reset' }],
    ['unavailable', { kind: 'hang' }],
    ['throttled', { kind: 'reply', reply: { status: 429, body: echo } }],
    ['malformed', { kind: 'reply', reply: { status: 404, body: echo } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: '<html>Hello</html>' } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: { success: true } } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: token('user_token_x', 'mac') } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: token('a b', 'bearer') } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: token('', 'bearer') } }],
    [
      'malformed',
      { kind: 'reply', reply: { status: 302, headers: { location: 'https://evil.test' } } },
    ],
    ['malformed', { kind: 'endless' }],
  ] as const
  for (const [kind, does] of cases) {
    await using ground = await makeGround({ timeoutMs: 300 })
    ground.akahu.addFault({ does })
    const failure = await failureOf(finish(ground, new URLSearchParams({ code })))
    const isSlow = does.kind === 'endless' && failure.kind === 'unavailable'
    assert.ok(failure.kind === kind || isSlow, `${kind} and not ${failure.kind}`)
    assert.equal(ground.akahu.requests.length, 1)
    const shown = JSON.stringify([failure, ground.alerts, ground.exchanges])
    for (const secret of [code, demoApp.appSecret, demoApp.appToken])
      assert.ok(!shown.includes(secret))
  }
})

const token = (access_token: string, token_type: string) => ({
  success: true,
  access_token,
  token_type,
})

test('R38: a token is stored before anything is asked with it', async () => {
  await using ground = await makeGround()
  const { searchParams: query } = await decide(await begin(ground), { decision: 'allow', bank })
  const kept: string[] = []
  const { requests } = ground.akahu
  const keep = async (secret: string) => void kept.push(secret, requests.at(-1)?.path ?? '')
  const request = { login: null, query, returnUrl, renews: null, keep }
  const outcome = await linkingOf(ground).finish(request, call)
  assert.ok(outcome.kind === 'agreed')
  assert.deepEqual(kept, [outcome.identity.secret, '/v1/token'])
})

test('whose the new token is is asked again when Akahu fails, because the code is used up', async () => {
  await using ground = await makeGround()
  const isMe = ({ path }: { path: string }) => path === '/v1/me'
  const returned = async () =>
    (await decide(await begin(ground), { decision: 'allow', bank })).searchParams
  ground.akahu.addFault({ when: isMe, times: 1, does: { kind: 'reply', reply: { status: 500 } } })
  assert.equal((await finish(ground, await returned())).kind, 'agreed')
  ground.akahu.addFault({ when: isMe, times: 2, does: { kind: 'reply', reply: { status: 500 } } })
  assert.equal((await failureOf(finish(ground, await returned()))).kind, 'unavailable')
  // It is no consent of ours that is lost.
  ground.akahu.addFault({ when: isMe, times: 1, does: { kind: 'reply', reply: { status: 401 } } })
  assert.equal((await failureOf(finish(ground, await returned()))).kind, 'malformed')
})

test('an institution is one of Akahu’s, or nobody is sent anywhere', async () => {
  await using ground = await makeGround()
  for (const institutionId of ['', 'asb', 'conn_', 'conn_a b', '88888']) {
    const failure = await failureOf(begin(ground, { institutionId }))
    assert.deepEqual([failure.kind, failure.detail], ['rejected', 'no such institution'])
  }
})

test('institutions are listed by name, as the app, with those that take no new links', async () => {
  await using ground = await makeGround()
  const listed = (await linkingOf(ground).institutions?.(call)) ?? []
  assert.deepEqual(
    listed.map(({ name, isOpen, health }) => [name, isOpen, health]),
    [
      ['Airpoints', true, null],
      ['American Express', true, null],
      ['ASB', true, null],
      ['Heartland Bank', false, null],
      ['Kiwibank', true, null],
      ['Sharesies', true, null],
    ],
  )
  assert.deepEqual(Object.keys(listed[0] ?? {}), ['id', 'name', 'health', 'isOpen'])
  assert.match(String(ground.akahu.requests[0]?.headers.authorization), /^Basic /)
  const bad = [{ items: [{ _id: 'x', name: 'X' }] }, { items: [{ _id: bank, name: '' }] }, {}]
  for (const body of [...bad.map((one) => ({ success: true, ...one })), '<html></html>']) {
    ground.akahu.addFault({ times: 1, does: { kind: 'reply', reply: { status: 200, body } } })
    const failure = await failureOf(linkingOf(ground).institutions?.(call) ?? never)
    assert.equal(failure.kind, 'malformed')
  }
})

const never = Promise.resolve()

test('a personal app has no consent in a browser', async () => {
  for (const options of [{ appSecret: null }, { appToken: null, appSecret: null }]) {
    await using ground = await makeGround(options)
    assert.equal(ground.adapter.linking, undefined)
  }
})

test('a person of a personal app who links by the full app is known by the address of their own', async () => {
  await using ground = await makeGround()
  const { appToken, userToken } = toPersonalTokens('healthy')
  const login = { ...loginFor('healthy'), secret: `${userToken} ${appToken}` }
  const address = await begin(ground, { login })
  assert.equal(address.searchParams.get('email'), 'healthy@example.test')
  const logins = [login, { ...login, secret: null }, loginFor('healthy')]
  const accepted = logins.map((one) => linkingOf(ground).accepts?.(one))
  assert.deepEqual(accepted, [false, true, true])
  assert.ok(!address.href.includes(userToken) && !address.href.includes(demoUserTokens.healthy))
})

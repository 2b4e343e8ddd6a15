/**
 * Consent in a browser at SnapTrade, over HTTP against the emulator: the registration of a person, the
 * portal, what every return means, and what is asked of SnapTrade on the way.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { type UserId, upstreamId } from '#kernel/ids.ts'
import type { Linking, LinkingRequest } from '#providers/linking.ts'
import type { Login } from '#providers/port.ts'
import {
  aim,
  call,
  connectionRef,
  failureOf,
  type Harness,
  loginOf,
  noSettings,
  personalSettings,
  startHarness,
} from './harness.ts'

const state = 'state-of-ours_0123456789'
const returnUrl = `https://tributary.example/providers/snaptrade/callback/${state}`
const userId = '0197f3aa-0000-7000-8000-00000000abcd' as UserId
const user = { userId, email: 'a@b.test', name: null }

function linkingOf({ adapter }: Harness): Linking {
  assert.ok(adapter.linking !== undefined)
  return adapter.linking
}

async function register(harness: Harness): Promise<Login> {
  const identity = await linkingOf(harness).register?.(user, call())
  assert.ok(identity !== undefined)
  return {
    ...loginOf(harness.emulator.people.healthy),
    ...identity,
    id: loginOf(harness.emulator.people.healthy).id,
  }
}

async function begin(harness: Harness, login: Login | null, more: Partial<LinkingRequest> = {}) {
  const none = { institutionId: null, renews: null }
  const request = { user, login, state, returnUrl, ...none, ...more }
  return new URL((await linkingOf(harness).begin(request, call())).address)
}

/** What a browser does on the portal's page; the query that it comes back with. */
async function decide(address: URL, fields: Readonly<Record<string, string>>) {
  const token = address.searchParams.get('token') ?? ''
  const body = new URLSearchParams({ token, ...fields })
  const reply = await fetch(address, { method: 'POST', body, redirect: 'manual' })
  const back = new URL(reply.headers.get('location') ?? 'about:blank')
  assert.equal(`${back.origin}${back.pathname}`, returnUrl)
  return back.searchParams
}

function finish(harness: Harness, login: Login | null, query: URLSearchParams) {
  return linkingOf(harness).finish({ login, query, returnUrl, renews: null }, call())
}

const bodies = (harness: Harness) =>
  harness.emulator.requests.map(({ method, path, body }) => [
    method,
    path,
    body === '' ? null : JSON.parse(body),
  ])

test('a person is registered under an id that says nothing, and another one each time', async () => {
  await using harness = await startHarness()
  assert.equal(linkingOf(harness).stateIn, 'path')
  const [first, second] = [await register(harness), await register(harness)]
  assert.match(first.upstreamUserId, /^tributary-0197f3aa-0000-7000-8000-00000000abcd-[0-9a-f]{8}$/)
  assert.notEqual(first.upstreamUserId, second.upstreamUserId)
  assert.ok(first.secret !== null && first.secret !== second.secret)
  assert.deepEqual(bodies(harness)[0], [
    'POST',
    '/snapTrade/registerUser',
    { userId: first.upstreamUserId },
  ])
  const [request] = harness.emulator.requests
  assert.deepEqual([...(request?.query.keys() ?? [])], ['clientId', 'timestamp'])
  assert.ok(!JSON.stringify(request).includes(user.email))
  assert.deepEqual(await harness.adapter.discover(first, call()), [])
})

test('a registration is sent once, whatever the answer; a user that exists already is the operator’s to mend', async () => {
  const cases = [
    ['unavailable', { kind: 'reply', reply: { status: 500, body: {} } }],
    ['unavailable', { kind: 'reset' }],
    ['unavailable', { kind: 'hang' }],
    ['throttled', { kind: 'reply', reply: { status: 429, body: {} } }],
    ['misconfigured', { kind: 'reply', reply: exists }],
    ['misconfigured', { kind: 'reply', reply: { status: 403, body: { detail: 'not allowed' } } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: '<html></html>' } }],
    ['malformed', { kind: 'reply', reply: { status: 200, body: { userId: 'x' } } }],
    [
      'malformed',
      { kind: 'reply', reply: { status: 200, body: { userId: 'x', userSecret: 'y' } } },
    ],
    [
      'malformed',
      { kind: 'reply', reply: { status: 200, body: { userId: 'x', userSecret: 'a b' } } },
    ],
  ] as const
  for (const [kind, does] of cases) {
    await using harness = await startHarness({ timeoutMs: 300 })
    harness.emulator.addFault({ does })
    const failure = await failureOf(register(harness))
    assert.equal(failure.kind, kind)
    assert.equal(harness.emulator.requests.length, 1)
    assert.equal(harness.recorded.alerts.length, kind === 'misconfigured' ? 1 : 0)
    if (does.kind === 'reply' && does.reply === exists) assert.match(failure.detail, /deleteUser/)
  }
})

const exists = {
  status: 400,
  body: { detail: 'User with the following userId already exist', status_code: 400, code: '1010' },
}

test('the portal is opened for reading alone, with our return address, and its body is signed', async () => {
  await using harness = await startHarness()
  const login = await register(harness)
  const listed = (await linkingOf(harness).institutions?.(call())) ?? []
  const questrade = listed.find(({ name }) => name === 'Questrade')
  assert.ok(questrade !== undefined)
  await begin(harness, login)
  await begin(harness, login, { institutionId: questrade.id })
  const opened = harness.emulator.requests.filter(({ path }) => path === '/snapTrade/login')
  const read = { connectionType: 'read', customRedirect: returnUrl, immediateRedirect: true }
  assert.deepEqual(
    opened.map(({ body }) => JSON.parse(body)),
    [read, { ...read, broker: 'QUESTRADE' }],
  )
  for (const { body, path, rawQuery, headers } of opened) {
    const content = Object.fromEntries(Object.entries(JSON.parse(body)).sort())
    const message = JSON.stringify({ content, path, query: rawQuery })
    const key = harness.emulator.credentials.consumerKey
    assert.equal(headers.signature, createHmac('sha256', key).update(message).digest('base64'))
  }
  assert.deepEqual(
    [...(opened[0]?.query.keys() ?? [])],
    ['clientId', 'timestamp', 'userId', 'userSecret'],
  )
  const unknown = await failureOf(begin(harness, login, { institutionId: 'QUESTRADE' }))
  assert.deepEqual([unknown.kind, unknown.detail], ['rejected', 'no such institution'])
})

test('consent gives a connection with accounts, holdings and trades; a renewal keeps its ids', async () => {
  await using harness = await startHarness()
  const login = await register(harness)
  const query = await decide(await begin(harness, login), {
    decision: 'connect',
    broker: 'STAKEAUS',
  })
  const { upstreamUserId, secret } = login
  const identity = { upstreamUserId, secret, isPersonal: false }
  assert.deepEqual(await finish(harness, login, query), { kind: 'agreed', identity })
  const [found, ...others] = await harness.adapter.discover(login, call())
  assert.deepEqual(others, [])
  assert.equal(found?.upstreamId, query.get('connection_id'))
  assert.equal(found?.accounts?.length, 2)
  const person = Object.values(harness.emulator.people).find(
    ({ userId }) => userId === upstreamUserId,
  )
  const [connection] = person?.connections ?? []
  assert.ok(connection !== undefined)
  connection.disabled = true
  const renews = connectionRef(connection)
  // The page is that of the connection, whatever was chosen.
  const page = await begin(harness, login, { renews, institutionId: found?.institutionId ?? null })
  const opened = harness.emulator.requests.findLast(({ path }) => path === '/snapTrade/login')
  assert.deepEqual(JSON.parse(opened?.body ?? ''), {
    connectionType: 'read',
    customRedirect: returnUrl,
    immediateRedirect: true,
    reconnect: connection.id,
  })
  assert.equal(
    (await finish(harness, login, await decide(page, { decision: 'connect' }))).kind,
    'agreed',
  )
  const [renewed] = await harness.adapter.discover(login, call())
  assert.deepEqual([renewed?.upstreamId, renewed?.status], [found?.upstreamId, 'active'])
  assert.deepEqual(renewed?.accounts, found?.accounts)
})

test('every outcome of the portal says why there is no consent', async () => {
  await using harness = await startHarness()
  const login = await register(harness)
  const outcomes = [
    ['abandon', 'cancelled', 'ABANDONED'],
    ['1066', 'sign_in_refused', '1066'],
    ['1086', 'sign_in_refused', '1086'],
    ['1012', 'sign_in_refused', '1012'],
    ['1006', 'expired', '1006'],
    ['1023', 'different_account', '1023'],
    ['1140', 'ineligible', '1140'],
    ['3000', 'unavailable', '3000'],
    ['0000', 'misconfigured', '0000'],
  ] as const
  for (const [decision, reason, code] of outcomes) {
    const query = await decide(await begin(harness, login), { decision })
    assert.deepEqual(await finish(harness, login, query), { kind: 'failed', reason, code })
  }
  const forged = [
    ['', 'no_status'],
    ['status=success', 'no_status'],
    ['status=ERROR', 'no_code'],
    ['status=ERROR&error_code=99999', '99999'],
    ['status=ERROR&error_code=%3Cb%3E', 'no_code'],
  ] as const
  for (const [text, code] of forged) {
    const query = new URLSearchParams(text)
    assert.deepEqual(await finish(harness, login, query), {
      kind: 'failed',
      reason: 'unavailable',
      code,
    })
  }
  const unknown = await finish(harness, null, new URLSearchParams({ status: 'SUCCESS' }))
  assert.deepEqual(unknown, { kind: 'failed', reason: 'expired', code: 'no_login' })
})

test('nobody is sent to an address that is no page, and the address is in no message', async () => {
  await using harness = await startHarness()
  const login = await register(harness)
  const answers: readonly unknown[] = [
    { redirectURI: 'javascript:alert(1)' },
    { redirectURI: 'data:text/html,x' },
    { redirectURI: 'http://portal.example/?token=t0k3n' },
    { redirectURI: 'https://a:b@portal.example/?token=t0k3n' },
    { redirectURI: '/portal?token=t0k3n' },
    { redirectURI: `https://portal.example/?token=${'t0k3n'.repeat(1_000)}` },
    { redirectURI: 7 },
    { encryptedResponse: { encryptedMessage: 't0k3n' } },
    {},
    '<html>Hello</html>',
  ]
  for (const body of answers) {
    harness.emulator.addFault({ times: 1, does: { kind: 'reply', reply: { status: 200, body } } })
    const failure = await failureOf(begin(harness, login))
    assert.equal(failure.kind, 'malformed')
    assert.ok(!JSON.stringify([failure, harness.recorded]).includes('t0k3n'))
  }
})

test('a refusal of the portal is said as it is: a lost user, a connection that is gone, our key, a failure', async () => {
  await using harness = await startHarness({ timeoutMs: 300 })
  const login = await register(harness)
  const lost = await failureOf(begin(harness, { ...login, secret: 'another-secret' }))
  assert.ok(lost.kind === 'consent_lost' && lost.wholeLogin === true)
  const renews = {
    ...connectionRef(aim(harness.emulator.people.history).connection),
    upstreamId: upstreamId('gone'),
  }
  const gone = await failureOf(begin(harness, login, { renews }))
  assert.ok(gone.kind === 'consent_lost' && gone.becomes === 'revoked' && gone.wholeLogin !== true)
  const cases = [
    ['unavailable', { kind: 'reply', reply: { status: 503, body: '<html></html>' } }],
    ['unavailable', { kind: 'hang' }],
    ['throttled', { kind: 'reply', reply: { status: 429, body: {} } }],
    ['misconfigured', { kind: 'reply', reply: { status: 401, body: { default_code: 1076 } } }],
    ['rejected', { kind: 'reply', reply: { status: 403, body: { detail: 'userSecret=abc no' } } }],
  ] as const
  for (const [kind, does] of cases) {
    const before = harness.emulator.requests.length
    harness.emulator.addFault({ times: 1, does })
    const failure = await failureOf(begin(harness, login))
    assert.equal(failure.kind, kind)
    assert.ok(!failure.detail.includes('abc'))
    assert.equal(harness.emulator.requests.length, before + 1)
  }
})

test('brokerages are listed by name with their health; one that cannot be read is left out', async () => {
  await using harness = await startHarness()
  const { institutions } = linkingOf(harness)
  const listed = (await institutions?.(call())) ?? []
  assert.deepEqual(
    listed.map(({ name, health, isOpen }) => [name, health, isOpen]),
    [
      ['Coinbase', 'healthy', true],
      ['Interactive Brokers', 'healthy', true],
      ['Oldfield', 'outage', false],
      ['Questrade', 'healthy', true],
      ['SnapTrade Sandbox', 'healthy', true],
      ['Stake', 'healthy', true],
      ['Wealthwood', 'degraded', true],
    ],
  )
  // The id is the one that connections have.
  const [, broker] = await harness.adapter.discover(
    loginOf(harness.emulator.people.healthy),
    call(),
  )
  assert.equal(broker?.institutionId, listed[0]?.id)
  const rows = [
    { id: 'a-1', slug: 'A', name: 'Alpha', enabled: false },
    { id: 'b-1', slug: 'B', display_name: ' ' },
    { id: '../x', slug: 'C' },
    { id: 'd-1' },
    7,
  ]
  harness.emulator.addFault({
    times: 1,
    does: { kind: 'reply', reply: { status: 200, body: rows } },
  })
  assert.deepEqual(await institutions?.(call()), [
    { id: 'a-1', name: 'Alpha', health: null, isOpen: false },
    { id: 'b-1', name: 'B', health: null, isOpen: true },
  ])
  assert.deepEqual(harness.recorded.oddities, Array(3).fill('unreadable brokerage'))
})

test('removing the last connection of a user that was registered here deletes the user, and may be repeated', async () => {
  await using harness = await startHarness()
  const { adapter, emulator } = harness
  const login = await register(harness)
  await decide(await begin(harness, login), { decision: 'connect', broker: 'STAKEAUS' })
  await decide(await begin(harness, login), { decision: 'connect', broker: 'QUESTRADE' })
  const person = Object.values(emulator.people).find(
    ({ userId }) => userId === login.upstreamUserId,
  )
  const [first, second] = (person?.connections ?? []).map(connectionRef)
  assert.ok(first !== undefined && second !== undefined)
  const isThere = () =>
    Object.values(emulator.people).some(({ userId }) => userId === login.upstreamUserId)
  await adapter.revoke(login, first, { last: false, isAsked: false }, call())
  assert.equal(isThere(), true)
  await adapter.revoke(login, second, { last: true, isAsked: false }, call())
  assert.equal(isThere(), false)
  emulator.addFault({ times: 1, does: { kind: 'reply', reply: { status: 404, body: {} } } })
  await adapter.revoke(login, second, { last: true, isAsked: false }, call())
})

test('a personal key has no consent in a browser, and a login by one gets no page', async () => {
  for (const settings of [personalSettings, noSettings]) {
    await using harness = await startHarness(settings)
    assert.equal(harness.adapter.linking, undefined)
    assert.deepEqual(harness.emulator.requests, [])
  }
  await using harness = await startHarness()
  const { healthy, personal } = harness.emulator.people
  assert.equal(linkingOf(harness).accepts?.(loginOf(personal)), false)
  assert.equal(linkingOf(harness).accepts?.(loginOf(healthy)), true)
  for (const login of [loginOf(personal), null]) {
    const failure = await failureOf(begin(harness, login))
    assert.ok(failure.kind === 'rejected' && failure.isPersonal === true)
  }
  assert.deepEqual(harness.emulator.requests, [])
})

/**
 * The Akahu adapter with personal apps, which have no secret: one of this installation, or each person's own,
 * also beside a full app. What such an app cannot reach is never asked for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credentials } from '#providers/credentials.ts'
import type { Login } from '#providers/port.ts'
import { demoApp, demoUserTokens, toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import {
  call,
  connectionOf,
  failureOf,
  firstAccount,
  type Ground,
  loginFor,
  makeGround,
  rowsOf,
  scopedQuery,
} from './harness.ts'

const own = toPersonalTokens('healthy')
const others = toPersonalTokens('history')

const link = (fields: { userToken: string; appToken?: string }): Credentials => ({
  provider: 'akahu',
  ...fields,
})

/** An installation whose app is the personal one of `healthy`. */
const personalInstall = { appToken: own.appToken, appSecret: null }
const noApp = { appToken: null, appSecret: null }
const installs = { 'a personal app': personalInstall, 'no app': noApp, 'a full app': {} } as const

const loginWith = (secret: string | null): Login => ({ ...loginFor('healthy'), secret })
const paths = ({ akahu }: Ground) => akahu.requests.map(({ method, path }) => `${method} ${path}`)

test('with the app token of the variable, both tokens are kept with the login', async () => {
  await using ground = await makeGround(personalInstall)
  const identity = await ground.adapter.identify(link({ userToken: own.userToken }), call)
  assert.deepEqual(identity, {
    upstreamUserId: ground.akahu.people.healthy.user._id,
    secret: `${own.userToken} ${own.appToken}`,
    isPersonal: true,
    ifNothing: 'Share accounts with the app at my.akahu.nz, Developers, Accounts; then link again.',
  })
  assert.deepEqual(paths(ground), ['GET /v1/me'])
  // The same app token again is this installation's app.
  assert.deepEqual(await ground.adapter.identify(link(own), call), identity)
})

for (const [what, install] of Object.entries(installs)) {
  test(`an app token of one's own is used and kept with the login, in an installation with ${what}`, async () => {
    await using ground = await makeGround(install)
    const { people } = ground.akahu
    const identity = await ground.adapter.identify(link(others), call)
    assert.deepEqual(
      [identity.upstreamUserId, identity.isPersonal],
      [people.history.user._id, true],
    )
    assert.equal(identity.secret, `${others.userToken} ${others.appToken}`)
    const query = scopedQuery('history', firstAccount(ground, 'history'))
    const login = { ...query.login, secret: identity.secret }
    const page = await ground.adapter.transactions.read({ ...query, login }, null, call)
    assert.ok(rowsOf(page, query).length > 0)
    assert.equal((await ground.adapter.discover(login, call)).length, 1)
    for (const { headers } of ground.akahu.requests) {
      assert.deepEqual(
        [headers['x-akahu-id'], headers.authorization],
        [others.appToken, `Bearer ${others.userToken}`],
      )
    }
    assert.deepEqual([ground.alerts, ground.oddities], [[], []])
  })
}

test('a refused pair is one message that names both tokens, the allow-list and a regenerated token', async () => {
  const cases: [what: string, install: object, given: Credentials, status: number][] = [
    ['regenerated', personalInstall, link({ userToken: 'user_token_old' }), 401],
    ['of two apps', noApp, link({ ...own, appToken: others.appToken }), 403],
    ['of two apps, beside a full app', {}, link({ ...own, appToken: others.appToken }), 403],
    ['of a full app', personalInstall, link({ userToken: demoUserTokens.healthy }), 403],
  ]
  for (const [what, install, given, status] of cases) {
    await using ground = await makeGround(install)
    const failure = await failureOf(ground.adapter.identify(given, call))
    assert.ok(failure.kind === 'rejected', what)
    assert.deepEqual([failure.status, failure.isPersonal], [status, true], what)
    assert.match(failure.detail, /app token with this user token .*regenerated.*allow-list/, what)
    assert.doesNotMatch(failure.detail, /_token_|\n/, what)
    assert.deepEqual([paths(ground), ground.alerts], [['GET /v1/me'], []], what)
  }
})

test('what cannot be the two tokens is refused without a call', async () => {
  const swapped = { userToken: own.appToken, appToken: own.userToken }
  const cases: [install: object, given: Credentials, why: RegExp][] = [
    [noApp, link(swapped), /the two tokens are swapped/],
    [personalInstall, link({ userToken: own.appToken }), /this is an app token: the user token/],
    [noApp, link({ ...own, appToken: own.userToken }), /this is a user token: the app token/],
    [
      noApp,
      link({ userToken: own.userToken }),
      /set AKAHU_APP_TOKEN, or .*--app-token.*my.akahu.nz/,
    ],
    [
      { appToken: own.userToken, appSecret: null },
      link({ userToken: own.userToken }),
      /AKAHU_APP_TOKEN holds a user token/,
    ],
    [noApp, link({ ...own, userToken: 'up:yeah:secret' }), /user token of Akahu starts with/],
    [noApp, link({ ...own, appToken: 'up:yeah:secret' }), /app token of Akahu starts with/],
    [noApp, link({ ...own, userToken: 'user_token_' }), /copy the whole of it/],
    [noApp, link({ ...own, userToken: 'user_token_a b' }), /blanks/],
    [noApp, link({ ...own, userToken: `${own.userToken}\n` }), /line ends/],
    [noApp, link({ ...own, appToken: `app_token_\r\nx-evil: 1` }), /line ends/],
    [noApp, link({ ...own, appToken: '' }), /app token/],
  ]
  for (const [install, given, why] of cases) {
    await using ground = await makeGround(install)
    const failure = await failureOf(ground.adapter.identify(given, call))
    assert.ok(failure.kind === 'rejected' && failure.isPersonal === true, String(why))
    assert.match(failure.detail, why)
    assert.doesNotMatch(failure.detail, /secret|\n/)
    assert.deepEqual(paths(ground), [])
  }
})

test('in use: a regenerated token is a lost consent, a switched-off permission or another address is not', async () => {
  const secret = `${own.userToken} ${own.appToken}`
  for (const install of [personalInstall, {}]) {
    await using ground = await makeGround(install)
    const query = {
      ...scopedQuery('healthy', firstAccount(ground, 'healthy')),
      login: loginWith(secret),
    }
    const read = () => failureOf(ground.adapter.transactions.read(query, null, call))
    const { ownApp } = ground.akahu.faultControls
    ownApp?.withdrawPermission('healthy')
    const withdrawn = await read()
    assert.ok(withdrawn.kind === 'rejected' && withdrawn.status === 403)
    assert.match(withdrawn.detail, /lacks the permission.*\(check the permissions.*Developers\)/)
    ownApp?.grantPermission('healthy')
    ownApp?.bar('healthy')
    const barred = await read()
    assert.ok(barred.kind === 'rejected' && barred.status === 403)
    assert.match(barred.detail, /allow-list/)
    ownApp?.admit('healthy')
    ground.akahu.people.healthy.personal.userToken = 'user_token_regenerated'
    const lost = await read()
    assert.ok(lost.kind === 'consent_lost' && lost.wholeLogin === true)
    assert.equal(lost.becomes, 'invalidated')
    assert.match(lost.detail, /\(link again with both tokens from my.akahu.nz, Developers/)
    assert.deepEqual(ground.alerts, [])
  }
})

test('the words about personal apps are not said to users of a full app', async () => {
  await using ground = await makeGround()
  ground.akahu.people.healthy.userToken = null
  const failure = await failureOf(ground.adapter.discover(loginFor('healthy'), call))
  assert.equal(failure.detail, 'Invalid or revoked user token')
})

test('a login of a full app is our fault when there is none now, without a call', async () => {
  for (const install of [noApp, personalInstall]) await readWithoutFullApp(install)
})

async function readWithoutFullApp(install: object): Promise<void> {
  await using ground = await makeGround(install)
  const failure = await failureOf(ground.adapter.discover(loginWith(own.userToken), call))
  assert.equal(failure.kind, 'misconfigured')
  assert.match(
    failure.detail,
    /no full app is set: set AKAHU_APP_TOKEN and AKAHU_APP_SECRET, or link again/,
  )
  assert.deepEqual([ground.alerts.length, paths(ground)], [1, []])
  const { connection } = connectionOf(ground.akahu.people.healthy.accounts)
  const options = { last: true, isAsked: false }
  const ended = ground.adapter.revoke(loginWith(own.userToken), connection, options, call)
  assert.equal((await failureOf(ended)).kind, 'rejected')
}

test('a login that was linked with the app of the variable keeps it when the variable names another app', async () => {
  await using before = await makeGround(personalInstall)
  const credentials = link({ userToken: own.userToken })
  const { secret } = await before.adapter.identify(credentials, call)
  for (const install of [{ appToken: others.appToken, appSecret: null }, noApp, {}]) {
    await using ground = await makeGround(install)
    assert.ok((await ground.adapter.discover(loginWith(secret), call)).length > 0)
    assert.deepEqual(
      ground.akahu.requests.map(({ headers }) => headers['x-akahu-id']),
      [own.appToken],
    )
  }
})

test('a refusal that repeats a token percent-encoded, or without its prefix, does not show it', async () => {
  await using ground = await makeGround(noApp)
  const app = 'app_token_pq/98+zz=='
  const login = loginWith(`user_token_hidden.part/12+ab== ${app}`)
  const message =
    'no hidden.part/12+ab== or user_token_hidden.part%2F12%2Bab%3D%3D or pq/98+zz== for app_token_pq%2F98%2Bzz%3D%3D'
  const body = { success: false, message }
  ground.akahu.addFault({ does: { kind: 'reply', reply: { status: 403, body } } })
  const failure = await failureOf(ground.adapter.discover(login, call))
  assert.match(failure.detail, /^no \[secret\] or \[secret\] or \[secret\] for \[secret\] \(/)
})

test('a personal login is only forgotten here, unless its end at Akahu is asked for', async () => {
  for (const install of Object.values(installs)) {
    await using ground = await makeGround(install)
    const login = loginWith(`${own.userToken} ${own.appToken}`)
    const { healthy } = ground.akahu.people
    const { connection } = connectionOf(healthy.accounts)
    for (const last of [true, false]) {
      await ground.adapter.revoke(login, connection, { last, isAsked: false }, call)
    }
    assert.deepEqual(paths(ground), [])
    await ground.adapter.revoke(login, connection, { last: false, isAsked: true }, call)
    assert.deepEqual(paths(ground), [`DELETE /v1/authorisations/${connection.upstreamId}`])
    assert.ok(healthy.accounts.length > 0)
    await ground.adapter.revoke(login, connection, { last: true, isAsked: true }, call)
    assert.equal(paths(ground).at(-1), 'DELETE /v1/token')
    assert.deepEqual(
      [healthy.personal.userToken, healthy.userToken],
      [null, demoUserTokens.healthy],
    )
    // Asked for again, the token that is gone counts as ended.
    await ground.adapter.revoke(login, connection, { last: true, isAsked: true }, call)
    assert.ok(!paths(ground).some((path) => path.includes('/webhooks')))
  }
})

test('a full app gets webhooks, but none is asked for about a personal login; other installations have no receiver', async () => {
  await using full = await makeGround()
  assert.ok(full.adapter.webhooks?.listen !== undefined)
  await full.adapter.webhooks.listen(loginWith(`${own.userToken} ${own.appToken}`), call)
  assert.deepEqual(paths(full), [])
  for (const install of [personalInstall, noApp]) {
    await using ground = await makeGround(install)
    assert.equal(ground.adapter.webhooks, undefined)
  }
})

test('without a secret the probe sends no credentials, and a refusal of that shows that Akahu answers', async () => {
  for (const install of [personalInstall, noApp]) {
    await using ground = await makeGround(install)
    const probe = async () => (await ground.adapter.probe?.(call))?.failure?.kind ?? null
    const reply = await ground.adapter.probe?.(call)
    assert.equal(reply?.note?.includes('proved') ?? false, install === personalInstall)
    assert.deepEqual(reply?.failure, null)
    assert.equal(new Date(reply.theirTimeMs ?? 0).toISOString(), '2026-11-20T21:15:00.000Z')
    const [request] = ground.akahu.requests
    assert.deepEqual(
      [request?.path, request?.headers.authorization, request?.headers['x-akahu-id']],
      ['/v1/me', undefined, undefined],
    )
    const cases: [status: number, kind: string | null][] = [
      [400, null],
      [401, null],
      [403, null],
      [404, 'rejected'],
      [200, 'malformed'],
      [302, 'malformed'],
      [429, 'throttled'],
      [500, 'unavailable'],
      [410, 'misconfigured'],
    ]
    for (const [status, kind] of cases) {
      ground.akahu.addFault({ times: 1, does: { kind: 'reply', reply: { status, body: {} } } })
      assert.equal(await probe(), kind, String(status))
    }
  }
})

test('the adapter says whose app is used, what that cannot do, and the next step', async () => {
  const seen: unknown[] = []
  for (const install of [{}, personalInstall, noApp]) {
    await using ground = await makeGround(install)
    const { mode, hasOwnCredentials, off, nextStep } = ground.adapter.access
    seen.push([mode, hasOwnCredentials, off.length])
    assert.match(nextStep, /Run `tributary connections link U --provider akahu --user-token -/)
    assert.equal(nextStep.startsWith('People link on the page Connections.'), mode === 'full app')
  }
  assert.deepEqual(seen, [
    ['full app', true, 0],
    ['personal app', true, 3],
    ['personal apps of people', false, 3],
  ])
})

test('neither token is passed on when Akahu repeats them', async () => {
  await using ground = await makeGround()
  const said = `refused ${others.userToken} of ${others.appToken}`
  const body = { success: false, message: said }
  ground.akahu.addFault({ does: { kind: 'reply', reply: { status: 403, body } } })
  const failure = await failureOf(ground.adapter.identify(link(others), call))
  assert.match(failure.detail, /\(refused \[secret\] of \[secret\]\)/)
})

test('a full app is never used for a token of a personal app', async () => {
  await using ground = await makeGround()
  await failureOf(ground.adapter.identify(link({ ...own, userToken: 'user_token_x' }), call))
  assert.ok(
    ground.akahu.requests.every(({ headers }) => headers['x-akahu-id'] !== demoApp.appToken),
  )
})

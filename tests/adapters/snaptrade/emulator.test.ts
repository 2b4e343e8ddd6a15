/** The emulator answers as the vendor's file says and refuses what the real one refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSnapTradeEmulator } from '#sandbox/snaptrade/index.ts'
import { aim, ask, now, startHarness } from './harness.ts'
import { makeJudge } from './schema.ts'

test('every answer of every person is what the vendor’s OpenAPI file promises', async () => {
  await using harness = await startHarness({ rateLimitPerMinute: null })
  const { emulator } = harness
  const judge = makeJudge()
  const checked = async (path: string, template: string, person = emulator.people.healthy) => {
    const response = await ask(emulator, path, { person })
    assert.equal(response.status, 200, path)
    const body: unknown = await response.json()
    assert.deepEqual(judge.problems('get', template, body), [], path)
  }
  for (const person of [emulator.people.healthy, emulator.people.history]) {
    await checked('/accounts', '/accounts', person)
    await checked('/authorizations', '/authorizations', person)
    for (const { id, accounts } of person.connections) {
      await checked(`/authorizations/${id}`, '/authorizations/{authorizationId}', person)
      const list = '/authorizations/{authorizationId}/accounts'
      await checked(`/authorizations/${id}/accounts`, list, person)
      for (const { id } of accounts) {
        await checked(`/accounts/${id}`, '/accounts/{accountId}', person)
        await checked(`/accounts/${id}/balances`, '/accounts/{accountId}/balances', person)
        const positions = '/accounts/{accountId}/positions/all'
        await checked(`/accounts/${id}/positions/all`, positions, person)
        await checked(`/accounts/${id}/activities`, '/accounts/{accountId}/activities', person)
      }
    }
  }
  await checked('/brokerages', '/brokerages')
  await checked('/snapTrade/listUsers', '/snapTrade/listUsers')
  await checked('/', '/')
})

test('what changes something answers as the file promises too', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.healthy
  const judge = makeJudge()
  const id = person.connections[0]?.id ?? ''
  const steps: [string, string, string, object | undefined, boolean][] = [
    ['POST', '/snapTrade/registerUser', '/snapTrade/registerUser', { userId: 'new' }, false],
    [
      'POST',
      '/snapTrade/login',
      '/snapTrade/login',
      { connectionType: 'read', customRedirect: 'https://us.example/back/1' },
      true,
    ],
    [
      'POST',
      `/authorizations/${id}/refresh`,
      '/authorizations/{authorizationId}/refresh',
      undefined,
      true,
    ],
    [
      'POST',
      `/authorizations/${id}/transactions/sync`,
      '/authorizations/{authorizationId}/transactions/sync',
      undefined,
      true,
    ],
    [
      'POST',
      `/authorizations/${id}/disable`,
      '/authorizations/{authorizationId}/disable',
      undefined,
      true,
    ],
    ['DELETE', `/connection/${id}`, '/connection/{connectionId}', undefined, true],
    ['DELETE', '/snapTrade/deleteUser?userId=new', '/snapTrade/deleteUser', undefined, false],
  ]
  for (const [method, path, template, body, signedIn] of steps) {
    const response = await ask(emulator, path, {
      method,
      ...(body === undefined ? {} : { body }),
      ...(signedIn ? { person } : {}),
    })
    assert.equal(response.status, 200, path)
    const answer: unknown = await response.json()
    assert.deepEqual(judge.problems(method.toLowerCase(), template, answer), [], path)
  }
  assert.equal(emulator.people['registered:new'], undefined)
})

test('the validation detects a missing, a mistyped and an unknown field', () => {
  const judge = makeJudge()
  const path = '/accounts/{accountId}/activities'
  const pagination = { offset: 0, limit: 1, total: 1 }
  assert.deepEqual(judge.problems('get', path, { data: [{ amount: null }], pagination }), [])
  assert.notDeepEqual(judge.problems('get', path, { data: [{ amount: '1' }], pagination }), [])
  assert.notDeepEqual(judge.problems('get', path, { data: [{ surprise: 1 }], pagination }), [])
  assert.notDeepEqual(judge.problems('get', '/accounts', [{ id: 'no uuid' }]), [])
})

test('the same seed and clock give the same rows, another seed others, quickly', async () => {
  const clock = { now: () => now }
  const started = performance.now()
  const [one, same, other] = await Promise.all([
    startSnapTradeEmulator({ clock, seed: 'a' }),
    startSnapTradeEmulator({ clock, seed: 'a' }),
    startSnapTradeEmulator({ clock, seed: 'b' }),
  ])
  try {
    assert.ok(performance.now() - started < 3_000)
    assert.deepEqual(one.people, same.people)
    assert.notDeepEqual(one.people, other.people)
  } finally {
    await Promise.all([one.close(), same.close(), other.close()])
  }
})

test('a day later yesterday’s rows are still the same', async () => {
  const one = await startSnapTradeEmulator({ clock: { now: () => now } })
  const later = await startSnapTradeEmulator({ clock: { now: () => now + 86_400_000 } })
  try {
    const rows = aim(one.people.healthy).account.activities.slice(0, 50)
    const known = new Map(aim(later.people.healthy).account.activities.map((row) => [row.id, row]))
    for (const row of rows) assert.deepEqual(known.get(row.id), row)
  } finally {
    await Promise.all([one.close(), later.close()])
  }
})

test('the people have recent rows, rows of every type, and more than 5,000 of them', async () => {
  await using harness = await startHarness()
  const { healthy, history } = harness.emulator.people
  const rows = aim(healthy).account.activities
  const monthAgo = new Date(now - 30 * 86_400_000).toISOString()
  assert.ok(rows.filter(({ tradeDate }) => (tradeDate ?? '') > monthAgo).length >= 5)
  assert.ok(new Set(rows.map(({ type }) => type)).size >= 28)
  assert.ok(rows.every(({ tradeDate }) => Date.parse(tradeDate ?? '') <= now))
  assert.equal(aim(history).account.activities.length, 5_400)
})

test('a request that is not signed exactly as sent is refused with 401 and 1076', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.healthy
  const refusals = [
    await ask(emulator, '/accounts', { person, tamper: () => '' }),
    await ask(emulator, '/accounts', { person, tamper: (signature) => signature.slice(0, -2) }),
    await ask(emulator, '/accounts', { person, timestamp: String(now) }),
    await ask(emulator, '/accounts', { person, timestamp: '1700000000' }),
  ]
  for (const response of refusals) {
    assert.equal(response.status, 401)
    const body = (await response.json()) as { code?: string; default_code?: number }
    assert.equal(Number(body.code ?? body.default_code), 1076)
  }
})

test('users, paths, methods and parameters that are wrong are refused', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.healthy
  const { account, connection } = aim(person)
  const activities = `/accounts/${account.id}/activities`
  const rows: [number, string, Parameters<typeof ask>[2]][] = [
    [401, '/accounts', {}],
    [401, '/accounts', { person: { ...person, userSecret: 'wrong' } }],
    [404, '/accounts/', { person }],
    [404, '/Accounts', { person }],
    [404, '/accounts', { person, method: 'POST' }],
    [404, '/accounts/00000000-0000-4000-8000-000000000000/activities', { person }],
    [404, `/accounts/${account.id}`, { person: emulator.people.history }],
    [410, `/accounts/${account.id}/holdings`, { person }],
    [410, `/accounts/${account.id}/positions`, { person }],
    [400, `${activities}?startDate=2026-1-1`, { person }],
    [400, `${activities}?endDate=2026-02-30`, { person }],
    [400, `${activities}?startDate=2026-11-01T00:00:00Z`, { person }],
    [400, `${activities}?offset=-1`, { person }],
    [400, `${activities}?limit=0`, { person }],
    [200, `/api/v1${activities}`, { person }],
    [400, '/snapTrade/login', { person, method: 'POST', body: { connectionType: 'all' } }],
    [400, '/snapTrade/registerUser', { method: 'POST', body: { userId: 5 } }],
    [404, `/authorizations/${connection.id}`, { person, method: 'DELETE' }],
  ]
  for (const [status, path, options] of rows) {
    const response = await ask(emulator, path, options)
    assert.equal(response.status, status, path)
    assert.match(response.headers.get('x-request-id') ?? '', /^[\w-]+$/)
  }
  const legacy = await ask(emulator, `/api/v1${activities}`, { person })
  assert.equal(legacy.headers.get('deprecation'), '@1781222400')
})

test('the 251st request of a rolling minute is refused, all users together', async () => {
  await using harness = await startHarness({ rateLimitPerMinute: 3 })
  const { emulator, clock } = harness
  const get = () => ask(emulator, '/brokerages')
  for (let left = 2; left >= 0; left -= 1) {
    assert.equal((await get()).headers.get('x-ratelimit-remaining'), String(left))
  }
  clock.ms += 53_000
  const refused = await get()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('x-ratelimit-reset'), '7')
  assert.deepEqual(await refused.json(), {
    detail: 'Request was throttled. Expected available in 7 seconds.',
    status_code: 429,
    code: '0000',
  })
  clock.ms += 7_000
  assert.equal((await get()).status, 200)
})

test('a disabled connection refuses to be refreshed and still answers reads', async () => {
  await using harness = await startHarness()
  const { emulator } = harness
  const person = emulator.people.healthy
  const { connection, account } = aim(person)
  const post = async (path: string) => {
    const response = await ask(emulator, path, { person, method: 'POST' })
    const body = (await response.json()) as { code?: string }
    return [response.status, body.code]
  }
  const path = `/authorizations/${connection.id}`
  assert.deepEqual(await post(`${path}/refresh`), [200, undefined])
  assert.deepEqual(await post(`${path}/refresh`), [429, 'throttled'])
  assert.deepEqual(await post(`${path}/disable`), [200, undefined])
  assert.deepEqual(await post(`${path}/disable`), [402, '3011'])
  assert.deepEqual(await post(`${path}/refresh`), [402, '3003'])
  const positions = await ask(emulator, `/accounts/${account.id}/positions/all`, { person })
  assert.equal(positions.status, 200)
})

test('the portal connects, reconnects, refuses and expires', async () => {
  await using harness = await startHarness()
  const { emulator, clock } = harness
  const person = emulator.people.history
  const customRedirect = 'https://us.example/providers/snaptrade/callback/state-1'
  const login = (body: object) => {
    const asked = { customRedirect, immediateRedirect: true, ...body }
    return ask(emulator, '/snapTrade/login', { person, method: 'POST', body: asked })
  }
  const open = async (body: object) =>
    ((await (await login(body)).json()) as { redirectURI: string }).redirectURI
  const post = async (page: string, fields: Readonly<Record<string, string>>) => {
    const token = new URL(page).searchParams.get('token') ?? ''
    const body = new URLSearchParams({ token, ...fields })
    return fetch(page, { method: 'POST', body, redirect: 'manual' })
  }
  const follow = async (page: string, fields: Readonly<Record<string, string>>) =>
    (await post(page, fields)).headers.get('location') ?? ''
  const shown = await (await fetch(await open({}))).text()
  assert.ok(shown.includes('Questrade') && !shown.includes('Oldfield'))
  const connected = await follow(await open({}), { decision: 'connect', broker: 'QUESTRADE' })
  const added = person.connections.at(-1)
  assert.equal(connected, `${customRedirect}?status=SUCCESS&connection_id=${added?.id}`)
  assert.equal(person.connections.length, 2)
  assert.ok(
    added?.accounts.every(({ activities, positions }) => activities.length * positions.length),
  )
  if (added !== undefined) added.disabled = true
  const mended = await follow(await open({ reconnect: added?.id }), { decision: 'connect' })
  assert.match(mended, /status=SUCCESS/)
  assert.equal(added?.disabled, false)
  assert.equal(person.connections.length, 2)
  const left = await follow(await open({}), { decision: 'abandon' })
  assert.equal(left, `${customRedirect}?status=ABANDONED`)
  const refused = await follow(await open({}), { decision: '1066' })
  assert.match(refused, /status=ERROR&status_code=403&error_code=1066/)
  const once = await open({})
  assert.equal((await post(once, {})).status, 200)
  assert.equal((await post(once, { decision: 'connect', broker: 'OLDFIELD' })).status, 200)
  assert.equal((await post(once, { decision: 'abandon' })).status, 303)
  assert.equal((await post(once, { decision: 'abandon' })).status, 403)
  const slow = await post(await open({ immediateRedirect: false }), { decision: 'abandon' })
  assert.match(await slow.text(), /state-1\?status=ABANDONED">Return to the app/)
  for (const bad of ['javascript:alert(1)', 'http://us.example/back', '/back', 7]) {
    assert.equal((await login({ customRedirect: bad })).status, 400)
  }
  const late = await open({})
  clock.ms += 5 * 60_000
  assert.equal((await fetch(late)).status, 403)
})
